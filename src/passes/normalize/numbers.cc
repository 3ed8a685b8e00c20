// Binary ops with a number where a tensor is declared: exporters write aten.add.Tensor(x, 1). Their
// Scalar overload means the same. A number on the left is turned to the right where that is exact.
#include "passes/normalize/rewrites.h"

namespace unfuse::passes {
namespace {

struct Overloads {
  std::string_view tensor;
  std::string_view scalar;
};

constexpr Overloads kOverloads[] = {
    {"aten.add.Tensor", "aten.add.Scalar"},
    {"aten.sub.Tensor", "aten.sub.Scalar"},
    {"aten.mul.Tensor", "aten.mul.Scalar"},
    {"aten.div.Tensor", "aten.div.Scalar"},
    {"aten.div.Tensor_mode", "aten.div.Scalar_mode"},
    {"aten.rsub.Tensor", "aten.rsub.Scalar"},
    {"aten.floor_divide.default", "aten.floor_divide.Scalar"},
    {"aten.remainder.Tensor", "aten.remainder.Scalar"},
    {"aten.fmod.Tensor", "aten.fmod.Scalar"},
    {"aten.pow.Tensor_Tensor", "aten.pow.Tensor_Scalar"},
    {"aten.eq.Tensor", "aten.eq.Scalar"},
    {"aten.ne.Tensor", "aten.ne.Scalar"},
    {"aten.lt.Tensor", "aten.lt.Scalar"},
    {"aten.le.Tensor", "aten.le.Scalar"},
    {"aten.gt.Tensor", "aten.gt.Scalar"},
    {"aten.ge.Tensor", "aten.ge.Scalar"},
    {"aten.bitwise_and.Tensor", "aten.bitwise_and.Scalar"},
    {"aten.bitwise_or.Tensor", "aten.bitwise_or.Scalar"},
    {"aten.bitwise_xor.Tensor", "aten.bitwise_xor.Scalar"},
    {"aten.bitwise_left_shift.Tensor", "aten.bitwise_left_shift.Tensor_Scalar"},
    {"aten.bitwise_right_shift.Tensor", "aten.bitwise_right_shift.Tensor_Scalar"},
};

std::string_view scalar_overload(std::string_view op) {
  for (const Overloads& overloads : kOverloads) {
    if (overloads.tensor == op) return overloads.scalar;
  }
  return {};
}

// The op with its operands exchanged; empty when there is none.
std::string_view mirrored(std::string_view op) {
  if (op == "aten.lt.Tensor") return "aten.gt.Scalar";
  if (op == "aten.gt.Tensor") return "aten.lt.Scalar";
  if (op == "aten.le.Tensor") return "aten.ge.Scalar";
  if (op == "aten.ge.Tensor") return "aten.le.Scalar";
  for (const std::string_view same :
       {"aten.add.Tensor", "aten.mul.Tensor", "aten.eq.Tensor", "aten.ne.Tensor",
        "aten.bitwise_and.Tensor", "aten.bitwise_or.Tensor", "aten.bitwise_xor.Tensor"}) {
    if (same == op) return scalar_overload(op);
  }
  return {};
}

bool has_alpha(const Node& node) { return node.op().schema.index_of("alpha") >= 0; }

bool alpha_is_one(const Node& node) {
  if (!has_alpha(node)) return true;
  const Argument& alpha = node.argument("alpha");
  return alpha.is_constant_scalar() && alpha.number() == 1.0;
}

Replacement number_on_the_right(RewriteContext& at, const Node& node) {
  const std::string_view op = scalar_overload(node.op().name);
  Arguments arguments(node.arguments().begin(), node.arguments().begin() + 2);
  std::vector<KeywordArgument> keywords;
  if (has_alpha(node)) arguments.push_back(node.argument("alpha"));
  if (node.op().schema.index_of("rounding_mode") >= 0) {
    keywords.push_back({"rounding_mode", node.argument("rounding_mode")});
  }
  return at.become(node, op, std::move(arguments), keywords);
}

Replacement number_on_the_left(RewriteContext& at, const Node& node) {
  if (!alpha_is_one(node)) return kKeep;
  const Argument& number = node.argument(0);
  Value* other = node.input(1);
  if (node.is("aten.sub.Tensor")) return at.become(node, "aten.rsub.Scalar", {other, number});
  if (node.is("aten.pow.Tensor_Tensor")) return at.become(node, "aten.pow.Scalar", {number, other});
  const std::string_view op = mirrored(node.op().name);
  if (op.empty()) return kKeep;
  return at.become(node, op, {other, number});
}

Replacement with_number(RewriteContext& at, const Node& node) {
  const bool left = node.argument(0).is_value();
  const bool right = node.argument(1).is_value();
  if (left && !right) return number_on_the_right(at, node);
  if (right && !left) return number_on_the_left(at, node);
  return kKeep;
}

Replacement where(RewriteContext& at, const Node& node) {
  if (!node.argument(0).is_value()) return kKeep;
  const bool self = node.argument(1).is_value();
  const bool other = node.argument(2).is_value();
  if (self && other) return kKeep;
  const std::string_view op = self    ? "aten.where.ScalarOther"
                              : other ? "aten.where.ScalarSelf"
                                      : "aten.where.Scalar";
  return at.become(node, op, {node.argument(0), node.argument(1), node.argument(2)});
}

Replacement masked_fill(RewriteContext& at, const Node& node) {
  if (node.argument(2).is_value() || !node.argument(0).is_value()) return kKeep;
  return at.become(node, "aten.masked_fill.Scalar",
                   {node.argument(0), node.argument(1), node.argument(2)});
}

// maximum with a number bounds from below.
Replacement maximum(RewriteContext& at, const Node& node) {
  if (node.argument(1).is_value() || !node.argument(0).is_value()) return kKeep;
  return at.become(node, "aten.clamp.default", {node.input(0), node.argument(1)});
}

Replacement minimum(RewriteContext& at, const Node& node) {
  if (node.argument(1).is_value() || !node.argument(0).is_value()) return kKeep;
  return at.become(node, "aten.clamp.default", {node.input(0), Argument(), node.argument(1)});
}

std::vector<RewriteRow> make_rows() {
  std::vector<RewriteRow> rows;
  for (const Overloads& overloads : kOverloads) rows.push_back({overloads.tensor, with_number});
  rows.push_back({"aten.where.self", where});
  rows.push_back({"aten.masked_fill.Tensor", masked_fill});
  rows.push_back({"aten.maximum.default", maximum});
  rows.push_back({"aten.minimum.default", minimum});
  return rows;
}

}  // namespace

std::span<const RewriteRow> number_rewrites() {
  static const std::vector<RewriteRow> rows = make_rows();
  return rows;
}

}  // namespace unfuse::passes
