// Ops that are another name of an op: aten.multiply is aten.mul. Only names whose schema differs in
// nothing are here.
#include <string>
#include <unordered_map>

#include "ops/catalogue.h"
#include "passes/normalize/rewrites.h"

namespace unfuse::passes {
namespace {

struct AliasName {
  std::string_view alias;
  std::string_view op;
};

constexpr AliasName kAliases[] = {
    {"aten.__and__.Scalar", "aten.bitwise_and.Scalar"},
    {"aten.__and__.Tensor", "aten.bitwise_and.Tensor"},
    {"aten.__lshift__.Scalar", "aten.bitwise_left_shift.Tensor_Scalar"},
    {"aten.__lshift__.Tensor", "aten.bitwise_left_shift.Tensor"},
    {"aten.__or__.Scalar", "aten.bitwise_or.Scalar"},
    {"aten.__or__.Tensor", "aten.bitwise_or.Tensor"},
    {"aten.__rshift__.Scalar", "aten.bitwise_right_shift.Tensor_Scalar"},
    {"aten.__rshift__.Tensor", "aten.bitwise_right_shift.Tensor"},
    {"aten.__xor__.Scalar", "aten.bitwise_xor.Scalar"},
    {"aten.__xor__.Tensor", "aten.bitwise_xor.Tensor"},
    {"aten._unsafe_index.Tensor", "aten.index.Tensor"},
    {"aten._unsafe_index_put.default", "aten.index_put.default"},
    {"aten.absolute.default", "aten.abs.default"},
    {"aten.clip.default", "aten.clamp.default"},
    {"aten.clip.Tensor", "aten.clamp.Tensor"},
    {"aten.concat.default", "aten.cat.default"},
    {"aten.concatenate.default", "aten.cat.default"},
    {"aten.divide.Scalar", "aten.div.Scalar"},
    {"aten.divide.Tensor", "aten.div.Tensor"},
    {"aten.fix.default", "aten.trunc.default"},
    {"aten.greater.Scalar", "aten.gt.Scalar"},
    {"aten.greater.Tensor", "aten.gt.Tensor"},
    {"aten.greater_equal.Scalar", "aten.ge.Scalar"},
    {"aten.greater_equal.Tensor", "aten.ge.Tensor"},
    {"aten.less.Scalar", "aten.lt.Scalar"},
    {"aten.less.Tensor", "aten.lt.Tensor"},
    {"aten.less_equal.Scalar", "aten.le.Scalar"},
    {"aten.less_equal.Tensor", "aten.le.Tensor"},
    {"aten.max.other", "aten.maximum.default"},
    {"aten.min.other", "aten.minimum.default"},
    {"aten.multiply.Scalar", "aten.mul.Scalar"},
    {"aten.multiply.Tensor", "aten.mul.Tensor"},
    {"aten.negative.default", "aten.neg.default"},
    {"aten.not_equal.Scalar", "aten.ne.Scalar"},
    {"aten.not_equal.Tensor", "aten.ne.Tensor"},
    {"aten.subtract.Scalar", "aten.sub.Scalar"},
    {"aten.subtract.Tensor", "aten.sub.Tensor"},
    {"aten.tile.default", "aten.repeat.default"},
    {"aten.true_divide.Scalar", "aten.div.Scalar"},
    {"aten.true_divide.Tensor", "aten.div.Tensor"},
};

std::string_view op_of(std::string_view alias) {
  static const auto table = [] {
    std::unordered_map<std::string_view, std::string_view> by_alias;
    for (const AliasName& name : kAliases) by_alias.emplace(name.alias, name.op);
    return by_alias;
  }();
  return table.at(alias);
}

Replacement first_name(RewriteContext& at, const Node& node) {
  const Op& op = ops::get(op_of(node.op().name));
  Node* made = at.graph().create_node(op, node.arguments(), {node.result()->type()},
                                      at.builder.insertion_point());
  made->set_origin(node.origin());
  return replace_by(made->result());
}

std::vector<RewriteRow> make_rows() {
  std::vector<RewriteRow> rows;
  for (const AliasName& name : kAliases) rows.push_back({name.alias, first_name});
  return rows;
}

}  // namespace

std::span<const RewriteRow> alias_name_rewrites() {
  static const std::vector<RewriteRow> rows = make_rows();
  return rows;
}

}  // namespace unfuse::passes
