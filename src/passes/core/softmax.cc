// Softmax in its core forms.
#include <limits>

#include "passes/core/rewrites.h"

namespace unfuse::passes {
namespace {

Value* core_softmax_of(Builder& builder, const Node& node, std::string_view op) {
  Value* self = convert(builder, node.input(0), node.result()->dtype());
  return call(builder, op, {self, node.argument(1), false});
}

Replacement softmax(RewriteContext& at, const Node& node) {
  return replace_by(core_softmax_of(at.builder, node, "aten._softmax.default"));
}

Replacement log_softmax(RewriteContext& at, const Node& node) {
  return replace_by(core_softmax_of(at.builder, node, "aten._log_softmax.default"));
}

// Zeros where everything is -inf.
Replacement safe_softmax(RewriteContext& at, const Node& node) {
  Builder& builder = at.builder;
  Value* self = node.input(0);
  Value* kept = call(builder, "aten.ne.Scalar", {self, -std::numeric_limits<double>::infinity()});
  Value* some =
      call(builder, "aten.any.dims", {kept, Argument::ints({node.argument(1).integer()}), true});
  Value* result = core_softmax_of(builder, node, "aten._softmax.default");
  return replace_by(call(builder, "aten.where.self",
                         {some, result, scalar(builder, Argument(0), result->dtype())}));
}

constexpr RewriteRow kRows[] = {{"aten.softmax.int", softmax},
                                {"aten.log_softmax.int", log_softmax},
                                {"aten._safe_softmax.default", safe_softmax}};

}  // namespace

std::span<const RewriteRow> core_softmax() { return kRows; }

}  // namespace unfuse::passes
