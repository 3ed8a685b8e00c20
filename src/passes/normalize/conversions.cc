// Conversions of dtype: one op, which is there only when the dtype does change. Moves between
// devices stay as they came.
#include "passes/normalize/rewrites.h"

namespace unfuse::passes {
namespace {

Replacement conversion(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  const TensorType& wanted = node.result()->tensor();
  if (self->tensor().device != wanted.device) return kKeep;
  if (is_complex(self->dtype()) || is_complex(wanted.dtype)) return kKeep;
  if (self->dtype() == wanted.dtype) return replace_by(self);
  return at.become(node, "aten._to_copy.default", {self}, {{"dtype", wanted.dtype}});
}

constexpr RewriteRow kRows[] = {
    {"aten._to_copy.default", conversion}, {"aten.to.device", conversion},
    {"aten.to.dtype", conversion},         {"aten.to.dtype_layout", conversion},
    {"aten.to.other", conversion},         {"aten.type_as.default", conversion},
};

}  // namespace

std::span<const RewriteRow> conversion_rewrites() { return kRows; }

}  // namespace unfuse::passes
