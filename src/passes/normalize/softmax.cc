// Softmax and log-softmax: AOTAutograd's forms, and a dtype that changes nothing.
#include "passes/normalize/rewrites.h"

namespace unfuse::passes {
namespace {

Replacement softmax_form(RewriteContext& at, const Node& node, std::string_view op) {
  Value* self = node.input(0);
  const std::int64_t dim = wrap_dimension(node.argument(1).integer(), self->rank());
  const DType wanted = node.result()->dtype();
  const Argument dtype = wanted == self->dtype() ? Argument() : Argument(wanted);
  return at.become(node, op, {self, dim, dtype});
}

Replacement softmax(RewriteContext& at, const Node& node) {
  return softmax_form(at, node, "aten.softmax.int");
}

Replacement log_softmax(RewriteContext& at, const Node& node) {
  return softmax_form(at, node, "aten.log_softmax.int");
}

Replacement safe_softmax(RewriteContext& at, const Node& node) {
  return softmax_form(at, node, "aten._safe_softmax.default");
}

constexpr RewriteRow kRows[] = {
    {"aten._softmax.default", softmax},        {"aten.softmax.int", softmax},
    {"aten.special_softmax.default", softmax}, {"aten._log_softmax.default", log_softmax},
    {"aten.log_softmax.int", log_softmax},     {"aten._safe_softmax.default", safe_softmax},
};

}  // namespace

std::span<const RewriteRow> softmax_rewrites() { return kRows; }

}  // namespace unfuse::passes
