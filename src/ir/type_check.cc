#include "ir/type_check.h"

#include <algorithm>

#include "unfuse/error.h"

namespace unfuse {
namespace {

std::vector<Type> types_of_results(const Node& node) {
  std::vector<Type> types;
  for (const Value* result : node.results()) types.push_back(result->type());
  return types;
}

/// Of what the rule gives; throws naming the node.
std::vector<Type> ruled_types(const Node& node, const Arguments& arguments) {
  try {
    return node.op().result_types(arguments);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUnsupported) throw;
    throw Error(ErrorKind::kInvalidArgument, "the call is impossible: " + error.message(),
                node.where());
  }
}

enum class Compare { kSizes, kSizesAndDTypes };

bool contradict(const TensorType& recorded, const TensorType& ruled, const SymbolRanges& symbols,
                Compare what) {
  if (what == Compare::kSizesAndDTypes && recorded.dtype != ruled.dtype) return true;
  if (recorded.rank() != ruled.rank()) return true;
  for (std::size_t i = 0; i < recorded.sizes.size(); ++i) {
    if (equal(recorded.sizes[i], ruled.sizes[i], symbols) == Answer::kNo) return true;
  }
  return false;
}

bool contradict(const Type& recorded, const Type& ruled, const SymbolRanges& symbols,
                Compare what) {
  const auto* left = std::get_if<TensorType>(&recorded);
  const auto* right = std::get_if<TensorType>(&ruled);
  if (left != nullptr && right != nullptr) return contradict(*left, *right, symbols, what);
  // None stands for a tensor that was not asked for.
  return (left != nullptr) != (right != nullptr) && !std::holds_alternative<NoneType>(recorded);
}

void compare(const Node& node, const std::vector<Type>& recorded, const std::vector<Type>& ruled,
             const SymbolRanges& symbols, Compare what) {
  if (recorded.size() != ruled.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                "it has " + std::to_string(recorded.size()) + " results where the op gives " +
                    std::to_string(ruled.size()),
                node.where());
  }
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    if (!contradict(recorded[i], ruled[i], symbols, what)) continue;
    throw Error(
        ErrorKind::kInvalidArgument,
        "its result is " + to_string(recorded[i]) + " where the op gives " + to_string(ruled[i]),
        node.where());
  }
}

/// How an input lies in memory may have symbols of its own, which get no value. Nothing that is
/// compared depends on them.
Dim evaluate_known(const Dim& dim, const SymbolValues& symbols) {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  const bool is_known = std::all_of(
      names.begin(), names.end(), [&](const std::string& name) { return symbols.contains(name); });
  return is_known ? Dim(dim.evaluate(symbols)) : dim;
}

}  // namespace

void check_types(const Node& node, const SymbolRanges& symbols) {
  if (node.op().result_types == nullptr) return;
  std::vector<Type> ruled;
  try {
    ruled = ruled_types(node, node.arguments());
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUnsupported) return;
    throw;
  }
  compare(node, types_of_results(node), ruled, symbols, Compare::kSizesAndDTypes);
}

Type SizeChecker::concrete(const Type& type) const {
  const auto* tensor = std::get_if<TensorType>(&type);
  if (tensor == nullptr) return type;
  TensorType made = *tensor;
  for (Dim& size : made.sizes) size = size.evaluate(*symbols_);
  for (Dim& stride : made.strides) stride = evaluate_known(stride, *symbols_);
  made.storage_offset = evaluate_known(made.storage_offset, *symbols_);
  return made;
}

Value* SizeChecker::concrete(const Value* value) {
  if (value == nullptr) return nullptr;
  Value*& made = values_[value];
  if (made == nullptr) made = shadow_.add_input(value->name(), concrete(value->type()), {});
  return made;
}

Arguments SizeChecker::concrete(const Arguments& arguments) {
  Arguments made = arguments;
  for (Argument& argument : made) {
    if (argument.is_value()) {
      argument = concrete(argument.value());
    } else if (const auto* values = argument.get_if<Argument::Tensors>()) {
      Argument::Tensors concretes;
      for (const Value* value : *values) concretes.push_back(concrete(value));
      argument = std::move(concretes);
    } else if (const auto* dim = argument.get_if<Dim>()) {
      argument = dim->evaluate(*symbols_);
    } else if (const auto* dims = argument.get_if<Argument::Ints>()) {
      Argument::Ints integers;
      for (const Dim& size : *dims) integers.emplace_back(size.evaluate(*symbols_));
      argument = std::move(integers);
    }
  }
  return made;
}

void SizeChecker::check(const Node& node) {
  if (node.op().result_types == nullptr) return;
  std::vector<Type> recorded;
  for (const Value* result : node.results()) recorded.push_back(concrete(result->type()));
  compare(node, recorded, ruled_types(node, concrete(node.arguments())), {}, Compare::kSizes);
}

}  // namespace unfuse
