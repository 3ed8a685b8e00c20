// Tensors made from sizes and a number: one op, full, with its dtype given and its number of that
// dtype's kind. empty is zeros: what it holds is nobody's business, and a constant is easier to
// handle.
#include <cmath>

#include "passes/normalize/rewrites.h"

namespace unfuse::passes {
namespace {

bool on_cpu(const Node& node) {
  const TensorType& type = node.result()->tensor();
  return type.device == "cpu" && !is_complex(type.dtype);
}

// The number as the dtype holds it; the number itself where that cannot be said (a symbolic size).
Argument of_kind(const Argument& number, DType dtype) {
  if (!number.is_constant_scalar()) return number;
  if (dtype == DType::kBool) return number.number() != 0.0;
  if (is_floating_point(dtype)) return number.number();
  if (number.holds<Dim>() || number.holds<bool>()) return number.integer();
  const double value = number.number();
  const bool fits = std::trunc(value) == value && std::abs(value) < 9e15;
  return fits ? Argument(static_cast<std::int64_t>(value)) : number;
}

Replacement filled(RewriteContext& at, const Node& node, const Argument& number) {
  if (!on_cpu(node)) return kKeep;
  const TensorType& type = node.result()->tensor();
  return at.become(node, "aten.full.default", {type.sizes, of_kind(number, type.dtype)},
                   {{"dtype", type.dtype}});
}

Replacement zeros(RewriteContext& at, const Node& node) { return filled(at, node, 0); }
Replacement ones(RewriteContext& at, const Node& node) { return filled(at, node, 1); }

Replacement full_of(RewriteContext& at, const Node& node) {
  return filled(at, node, node.argument("fill_value"));
}

Replacement scalar_tensor(RewriteContext& at, const Node& node) {
  return filled(at, node, node.argument("s"));
}

Replacement fill_scalar(RewriteContext& at, const Node& node) {
  return filled(at, node, node.argument("value"));
}

Replacement fill_tensor(RewriteContext& at, const Node& node) {
  if (!on_cpu(node)) return kKeep;
  const Argument& value = node.argument("value");
  if (!value.is_value()) return filled(at, node, value);
  Value* converted = convert(at.builder, value.value(), node.result()->dtype());
  return replace_by(expand(at.builder, converted, node.result()->sizes()));
}

Replacement arange(RewriteContext& at, const Node& node) {
  if (!on_cpu(node)) return kKeep;
  const int start = node.op().schema.index_of("start");
  const int step = node.op().schema.index_of("step");
  return at.become(node, "aten.arange.start_step",
                   {start < 0 ? Argument(0) : node.argument(start), node.argument("end"),
                    step < 0 ? Argument(1) : node.argument(step)},
                   {{"dtype", node.result()->dtype()}});
}

constexpr RewriteRow kRows[] = {
    {"aten.full.default", full_of},     {"aten.full_like.default", full_of},
    {"aten.new_full.default", full_of}, {"aten.zeros.default", zeros},
    {"aten.zeros_like.default", zeros}, {"aten.new_zeros.default", zeros},
    {"aten.zero.default", zeros},       {"aten.empty.memory_format", zeros},
    {"aten.empty_like.default", zeros}, {"aten.empty_strided.default", zeros},
    {"aten.new_empty.default", zeros},  {"aten.new_empty_strided.default", zeros},
    {"aten.ones.default", ones},        {"aten.ones_like.default", ones},
    {"aten.new_ones.default", ones},    {"aten.scalar_tensor.default", scalar_tensor},
    {"aten.fill.Scalar", fill_scalar},  {"aten.fill.Tensor", fill_tensor},
    {"aten.arange.default", arange},    {"aten.arange.start", arange},
    {"aten.arange.start_step", arange},
};

}  // namespace

std::span<const RewriteRow> creation_rewrites() { return kRows; }

}  // namespace unfuse::passes
