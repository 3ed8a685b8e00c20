#include "targets/cpu/lowering/pointwise_emitter.h"

#include <algorithm>
#include <unordered_map>

#include "ops/catalogue.h"
#include "ops/numbers_of_dtypes.h"
#include "ops/promotion.h"
#include "targets/cpu/lowering/view_algebra.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
RegisterType register_type(DType dtype) {
  if (dtype == DType::kFloat64) return RegisterType::kFloat64;
  return is_floating_point(dtype) ? RegisterType::kFloat32 : RegisterType::kInt64;
}

RegisterType result_register_type(const Node& node) {
  return register_type(node.result()->dtype());
}

DType promoted_dtype(const Node& node) {
  return ops::result_dtype(std::span(node.arguments()).first(2));
}

int PointwiseEmitter::load(const Argument& argument, DType dtype) {
  const RegisterType type = register_type(dtype);
  const bool integer_number = argument.holds<Dim>() && type == RegisterType::kInt64;
  if (!integer_number) return load(argument, type);
  return constant(ops::wrapped(context_->evaluate(argument.dim()), dtype), type);
}

int PointwiseEmitter::load(const Argument& argument, RegisterType type) {
  if (const auto* number = argument.get_if<double>()) return constant(*number, type);
  if (const auto* dim = argument.get_if<Dim>()) return constant(context_->evaluate(*dim), type);
  if (const auto* flag = argument.get_if<bool>()) return constant(std::int64_t{*flag}, type);
  const Value* value = argument.value();
  if (const auto inlined = defined_.find(value); inlined != defined_.end()) {
    return converted(inlined->second, type);
  }
  const auto found = std::find_if(inputs_.begin(), inputs_.end(), [&](const Input& input) {
    return input.value == value && input.type == type;
  });
  if (found != inputs_.end()) return static_cast<int>(found - inputs_.begin());
  inputs_.push_back({value, context_->view(value), type});
  return static_cast<int>(inputs_.size()) - 1;
}

int PointwiseEmitter::load(const View& view, RegisterType type) {
  inputs_.push_back({nullptr, view, type});
  return static_cast<int>(inputs_.size()) - 1;
}

int PointwiseEmitter::load_channels(const Value* value, std::int64_t rank, RegisterType type) {
  return load(along_channels(context_->view(value), rank), type);
}

int PointwiseEmitter::constant(double value, RegisterType type) {
  return emit(PointwiseOp::kConstant, type, {}, {value},
              type == RegisterType::kInt64 ? static_cast<std::int64_t>(value) : 0);
}

int PointwiseEmitter::constant(std::int64_t value, RegisterType type) {
  return emit(PointwiseOp::kConstant, type, {}, {static_cast<double>(value)}, value);
}

int PointwiseEmitter::emit(PointwiseOp op, RegisterType type, std::initializer_list<int> arguments,
                           std::array<double, 3> parameters, std::int64_t integer) {
  PointwiseInstruction instruction;
  instruction.op = op;
  instruction.type = type;
  std::copy(arguments.begin(), arguments.end(), instruction.arguments.begin());
  instruction.parameters = parameters;
  instruction.integer = integer;
  instructions_.push_back(instruction);
  return kFirstInstruction + static_cast<int>(instructions_.size()) - 1;
}

RegisterType PointwiseEmitter::type_of(int reg) const {
  if (reg < kFirstInstruction) return inputs_.at(static_cast<std::size_t>(reg)).type;
  return instructions_.at(static_cast<std::size_t>(reg - kFirstInstruction)).type;
}

/// Whether the register holds 0 or 1 and nothing else.
bool PointwiseEmitter::holds_truth(int reg) const {
  if (reg < kFirstInstruction) {
    return inputs_.at(static_cast<std::size_t>(reg)).view.dtype() == DType::kBool;
  }
  switch (instructions_.at(static_cast<std::size_t>(reg - kFirstInstruction)).op) {
    case PointwiseOp::kToBool:
    case PointwiseOp::kEqual:
    case PointwiseOp::kNotEqual:
    case PointwiseOp::kLess:
    case PointwiseOp::kLessEqual:
    case PointwiseOp::kGreater:
    case PointwiseOp::kGreaterEqual:
    case PointwiseOp::kIsNan:
    case PointwiseOp::kIsInf:
    case PointwiseOp::kIsFinite:
    case PointwiseOp::kLogicalAnd:
    case PointwiseOp::kLogicalOr:
    case PointwiseOp::kLogicalXor:
    case PointwiseOp::kLogicalNot:
      return true;
    default:
      return false;
  }
}

int PointwiseEmitter::converted(int reg, RegisterType type) {
  if (type_of(reg) == type) return reg;
  switch (type) {
    case RegisterType::kFloat32:
      return emit(PointwiseOp::kToFloat32, type, {reg});
    case RegisterType::kFloat64:
      return emit(PointwiseOp::kToFloat64, type, {reg});
    case RegisterType::kInt64:
      return emit(PointwiseOp::kToInt64, type, {reg});
  }
  throw Error(ErrorKind::kInternal, "no such register type");
}

void PointwiseEmitter::define(const Value* value, int reg) {
  if (value->dtype() == DType::kBool && !holds_truth(reg)) {
    reg = emit(PointwiseOp::kToBool, type_of(reg), {reg});
  }
  defined_[value] = reg;
}

double PointwiseEmitter::number(const Argument& argument) const {
  if (const auto* dim = argument.get_if<Dim>()) {
    return static_cast<double>(context_->evaluate(*dim));
  }
  return argument.number();
}

void PointwiseEmitter::finish(const std::vector<int>& registers, const Sizes& sizes,
                              const std::vector<View>& results) {
  const auto renumber = [&](int index) {
    if (index < kFirstInstruction) return index;
    return index - kFirstInstruction + static_cast<int>(inputs_.size());
  };
  PointwiseSpec spec;
  spec.sizes = sizes;
  spec.threads = context_->threads();
  std::vector<View> operands;
  for (const Input& input : inputs_) {
    operands.push_back(broadcast(input.view, sizes));
    spec.program.inputs.push_back(input.type);
    spec.inputs.push_back(operands.back().spec);
  }
  for (PointwiseInstruction& instruction : instructions_) {
    for (int& argument : instruction.arguments) argument = renumber(argument);
  }
  spec.program.instructions = std::move(instructions_);
  for (int index : registers) spec.program.outputs.push_back(renumber(index));
  for (const View& result : results) spec.outputs.push_back(result.spec);
  if (const std::optional<RowLimit> limit = context_->row_limit()) {
    spec.counted_rows = limit->rows;
    operands.insert(operands.begin(), limit->count);
  }
  context_->emit(select_pointwise(spec), operands, results);
}

const PointwiseRow* find_pointwise(OpId id) {
  static const std::unordered_map<OpId, const PointwiseRow*> rows = [] {
    std::unordered_map<OpId, const PointwiseRow*> by_id;
    for (const auto family : {arithmetic_rows(), unary_rows(), activation_rows(), comparison_rows(),
                              selection_rows()}) {
      for (const PointwiseRow& row : family) by_id[ops::get(row.op).id] = &row;
    }
    return by_id;
  }();
  const auto found = rows.find(id);
  return found == rows.end() ? nullptr : found->second;
}

}  // namespace unfuse::cpu
