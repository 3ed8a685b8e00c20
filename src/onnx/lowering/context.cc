#include "onnx/lowering/context.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/numbers_of_dtypes.h"
#include "unfuse/error.h"

namespace unfuse::onnx {
namespace {

// Rounded to nearest, ties to even, as PyTorch rounds numbers that meet 16-bit tensors.
std::uint16_t to_float16(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return sign | 0x7e00;
  const float size = std::abs(value);
  if (size >= 65520) return sign | 0x7c00;
  constexpr float kSmallestNormal = 0x1p-14F;
  int exponent = -14;
  if (size >= kSmallestNormal) exponent = std::ilogb(size);
  const auto mantissa = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  // The leading one of a normal number adds to the exponent, and a subnormal one has none.
  return static_cast<std::uint16_t>(sign | (((exponent + 14) << 10) + mantissa));
}

std::uint16_t to_bfloat16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  if (value != value) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <typename T>
Tensor scalar(DType dtype, T value) {
  Tensor tensor = Tensor::empty(dtype, {});
  *tensor.data_as<T>() = value;
  return tensor;
}

template <typename From>
Tensor scalar_of(From value, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return scalar(dtype, static_cast<float>(value));
    case DType::kFloat64:
      return scalar(dtype, static_cast<double>(value));
    case DType::kFloat16:
      return scalar(dtype, to_float16(static_cast<float>(value)));
    case DType::kBFloat16:
      return scalar(dtype, to_bfloat16(static_cast<float>(value)));
    case DType::kBool:
      return scalar(dtype, value != From{0});
    case DType::kInt64:
      return scalar(dtype, static_cast<std::int64_t>(value));
    case DType::kInt32:
      return scalar(dtype, static_cast<std::int32_t>(static_cast<std::int64_t>(value)));
    case DType::kUInt64:
      return scalar(dtype, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
    default:
      throw Error(ErrorKind::kUnsupported,
                  "ONNX computes nothing in " + std::string(dtype_name(dtype)));
  }
}

/// Other constants are made in the dtype that is computed in, and converted.
DType constant_dtype(DType dtype) {
  return dtype == DType::kBFloat16 || dtype == DType::kBool ? dtype : arithmetic_dtype(dtype);
}

std::string weight_key(const Tensor& data) {
  return fmt::format("{}@{} [{}] [{}]", dtype_name(data.dtype()), data.data(),
                     fmt::join(data.sizes(), ","), fmt::join(data.strides(), ","));
}

}  // namespace

void refuse(const std::string& reason) { throw Refusal(reason); }

DType arithmetic_dtype(DType dtype) {
  switch (dtype) {
    case DType::kBFloat16:
      return DType::kFloat32;
    case DType::kBool:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kUInt8:
    case DType::kUInt16:
      return DType::kInt32;
    case DType::kUInt32:
      return DType::kInt64;
    default:
      if (is_floating_point(dtype) && dtype_size(dtype) == 1) return DType::kFloat32;
      return dtype;
  }
}

DType wide_dtype(DType dtype) {
  return dtype == DType::kFloat16 ? DType::kFloat32 : arithmetic_dtype(dtype);
}

LoweringContext::LoweringContext(const Graph& graph, int opset) : graph_(&graph), builder_(opset) {
  find_sources();
}

// --- Operands

Operand LoweringContext::weight(const GraphInput& input) {
  if (!input.data.defined()) refuse("the elements of '" + input.target + "' are not known");
  // Tied weights are one.
  const std::string key = weight_key(input.data);
  const auto found = weights_.find(key);
  if (found != weights_.end()) return found->second;
  const std::string& name = input.target.empty() ? input.value->name() : input.target;
  return weights_[key] = builder_.add_initializer(name, input.data);
}

Operand LoweringContext::operand(const Value* value) {
  const auto found = operands_.find(value);
  if (found != operands_.end()) return found->second;
  const GraphInput* input = graph_->input_of(value);
  if (input == nullptr) throw Error(ErrorKind::kInternal, "no operand for " + value->name());
  return operands_[value] = weight(*input);
}

Operand LoweringContext::operand(const Argument& argument, DType dtype) {
  if (argument.is_value()) return convert(operand(argument.value()), dtype);
  if (const auto* dim = argument.get_if<Dim>()) {
    const auto fixed = dim->constant();
    return fixed ? number(*fixed, dtype) : convert(scalar_size(*dim), dtype);
  }
  if (const auto* flag = argument.get_if<bool>()) return number(std::int64_t{*flag}, dtype);
  return number(argument.number(), dtype);
}

Operand LoweringContext::operand(const Argument& argument, DType dtype, DType computed) {
  if (!is_integer(dtype)) return operand(argument, computed);
  if (argument.is_value()) return convert(operand(argument, dtype), computed);
  const auto* dim = argument.get_if<Dim>();
  if (dim == nullptr || !dim->constant()) return operand(argument, computed);
  return number(ops::wrapped(*dim->constant(), dtype), computed);
}

Operand LoweringContext::optional_operand(const Argument& argument, DType dtype) {
  return argument.is_none() ? absent() : operand(argument, dtype);
}

// --- Constants

Operand LoweringContext::number(double value, DType dtype) {
  return convert(builder_.constant(scalar_of(value, constant_dtype(dtype))), dtype);
}

Operand LoweringContext::number(std::int64_t value, DType dtype) {
  return convert(builder_.constant(scalar_of(value, constant_dtype(dtype))), dtype);
}

Operand LoweringContext::integers(const std::vector<std::int64_t>& values) {
  Tensor tensor = Tensor::empty(DType::kInt64, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.data_as<std::int64_t>());
  return builder_.constant(tensor);
}

// --- Nodes

Operand LoweringContext::emit(const std::string& op, const std::vector<Operand>& inputs,
                              DType result, Attributes attributes) {
  return builder_.add_node(op, inputs, {result}, std::move(attributes)).front();
}

Operand LoweringContext::emit(const std::string& op, const std::vector<Operand>& inputs,
                              Attributes attributes) {
  return emit(op, inputs, inputs.front().dtype, std::move(attributes));
}

Operand LoweringContext::convert(Operand operand, DType dtype) {
  if (operand.dtype == dtype) return operand;
  return emit("Cast", {operand}, dtype, {{"to", std::int64_t{data_type(dtype)}}});
}

Operand LoweringContext::reshape(Operand operand, const std::vector<Dim>& from,
                                 const std::vector<Dim>& to) {
  if (from == to) return operand;
  // 0 keeps a size, and -1 stands for the one that follows from the others: where these say it all,
  // nothing needs to be computed.
  std::vector<std::int64_t> plain;
  bool has_rest = false;
  bool is_plain = true;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto fixed = to[i].constant();
    if (fixed == 0) is_plain = false;
    if (fixed) {
      plain.push_back(*fixed);
    } else if (i < from.size() && from[i] == to[i]) {
      plain.push_back(0);
    } else if (!has_rest) {
      has_rest = true;
      plain.push_back(-1);
    } else {
      is_plain = false;
    }
  }
  // A size that may be 0 leaves open what -1 is.
  const bool keeps_any = std::find(plain.begin(), plain.end(), 0) != plain.end();
  if (is_plain && !(has_rest && keeps_any)) return emit("Reshape", {operand, integers(plain)});
  return emit("Reshape", {operand, sizes(to)}, {{"allowzero", std::int64_t{1}}});
}

Operand LoweringContext::transpose(Operand operand, const std::vector<std::int64_t>& order) {
  if (std::is_sorted(order.begin(), order.end())) return operand;
  return emit("Transpose", {operand}, {{"perm", order}});
}

Operand LoweringContext::expand(Operand operand, const std::vector<Dim>& from,
                                const std::vector<Dim>& to) {
  std::vector<Dim> wanted = to;
  bool changes = from.size() != to.size();
  const std::size_t added = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != to[i + added]) {
      changes = true;
    } else {
      wanted[i + added] = 1;
    }
  }
  if (!changes) return operand;
  // ONNX Runtime leaves a size of 1 where it is to be 0.
  const auto fixed = constants(to);
  if (fixed && std::find(fixed->begin(), fixed->end(), 0) != fixed->end()) {
    return builder_.constant(Tensor::empty(operand.dtype, *fixed));
  }
  // Which types are expanded differs between implementations; these are by all.
  const DType dtype = operand.dtype;
  const bool any = dtype != DType::kBFloat16;
  const Operand wide = any ? operand : convert(operand, DType::kFloat32);
  return convert(emit("Expand", {wide, sizes(wanted)}), dtype);
}

Operand LoweringContext::reduce(const std::string& op, Operand operand,
                                const std::vector<std::int64_t>& axes, bool keep) {
  if (axes.empty()) return operand;
  Attributes attributes = {{"keepdims", std::int64_t{keep}}};
  // Axes became operands with 13 for ReduceSum, with 18 for the others.
  if (op == "ReduceSum" || opset() >= 18) return emit(op, {operand, integers(axes)}, attributes);
  attributes.push_back({"axes", axes});
  return emit(op, {operand}, attributes);
}

Operand LoweringContext::unsqueeze(Operand operand, const std::vector<std::int64_t>& axes) {
  return axes.empty() ? operand : emit("Unsqueeze", {operand, integers(axes)});
}

Operand LoweringContext::squeeze(Operand operand, const std::vector<std::int64_t>& axes) {
  return axes.empty() ? operand : emit("Squeeze", {operand, integers(axes)});
}

Operand LoweringContext::slice(Operand operand, std::int64_t axis, const Dim& start, const Dim& end,
                               const Dim& step) {
  return emit("Slice", {operand, size(start), size(end), integers({axis}), size(step)});
}

Operand LoweringContext::where(Operand condition, Operand chosen, Operand other) {
  const DType dtype = arithmetic_dtype(chosen.dtype);
  return convert(emit("Where", {condition, convert(chosen, dtype), convert(other, dtype)}, dtype),
                 chosen.dtype);
}

Operand LoweringContext::range(const Dim& count) {
  return emit("Range", {number(std::int64_t{0}, DType::kInt64), scalar_size(count),
                        number(std::int64_t{1}, DType::kInt64)});
}

void LoweringContext::define(const Value* result, Operand operand) {
  const Operand typed = convert(operand, result->dtype());
  operands_[result] = typed;
  builder_.describe(typed, result->name(), result->tensor());
}

}  // namespace unfuse::onnx
