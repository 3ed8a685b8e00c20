// Views and identities. src/passes/view_steps.cc says what each shows; here each becomes the one op
// of the dialect for it, a list of views (split, unbind) one op a piece.
#include "passes/views.h"

#include <algorithm>

#include "passes/normalize/rewrites.h"

namespace unfuse::passes {
namespace {

bool is_call(const Node& node, std::string_view op, const Arguments& after_self) {
  return node.is(op) && std::equal(after_self.begin(), after_self.end(),
                                   node.arguments().begin() + 1, node.arguments().end());
}

// Whether `node` is already written as the dialect writes this step.
bool is_canonical(const Node& node, const ViewStep& step) {
  const Value* self = node.input(0);
  switch (step.kind) {
    case ViewStep::Kind::kReshape:
      return self->sizes() != step.sizes && is_call(node, "aten.reshape.default", {step.sizes});
    case ViewStep::Kind::kExpand:
      return self->sizes() != step.sizes &&
             is_call(node, "aten.expand.default", {step.sizes, false});
    case ViewStep::Kind::kPermute:
      return !is_identity_order(step.order) &&
             is_call(node, "aten.permute.default", {Argument::ints(step.order)});
    case ViewStep::Kind::kSlice: {
      const bool whole =
          step.start == Dim(0) && step.step == Dim(1) && step.end == self->size(step.dimension);
      return !whole &&
             is_call(node, "aten.slice.Tensor", {step.dimension, step.start, step.end, step.step});
    }
    case ViewStep::Kind::kSelect:
      return is_call(node, "aten.select.int", {step.dimension, step.start});
    case ViewStep::Kind::kDiagonal:
      return is_call(node, "aten.diagonal.default", {step.order[0], step.order[1], step.order[2]});
    case ViewStep::Kind::kUnfold:
      return is_call(node, "aten.unfold.default", {step.dimension, step.order[0], step.order[1]});
    case ViewStep::Kind::kBits:
      return self->dtype() != step.dtype;
    case ViewStep::Kind::kIdentity:
    case ViewStep::Kind::kOther:
      break;
  }
  return false;
}

Replacement view(RewriteContext& at, const Node& node) {
  std::vector<ViewStep> steps;
  for (int i = 0; i < static_cast<int>(node.results().size()); ++i) {
    auto step = view_step(node, i, at.symbols());
    if (!step) return kKeep;
    steps.push_back(std::move(*step));
  }
  if (steps.size() == 1 && is_canonical(node, steps.front())) return kKeep;
  std::vector<Value*> values;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool used = node.results()[i]->use_count() > 0;
    values.push_back(used ? steps[i].apply(at.builder, node.input(0)) : nullptr);
  }
  return values;
}

Replacement each_its_own_view(RewriteContext& at, const Node& node) {
  return views_of_several(at.builder, node);
}

// native_dropout(x, p, train=False): x and a mask of ones.
Replacement native_dropout(RewriteContext& at, const Node& node) {
  const Argument& train = node.argument("train");
  if (train.is_none() || train.boolean()) return kKeep;
  const bool mask_used = node.result(1)->use_count() > 0;
  Value* self = node.input(0);
  Value* mask = mask_used ? full(at.builder, self->sizes(), true, DType::kBool) : nullptr;
  return std::vector<Value*>{self, mask};
}

std::vector<RewriteRow> make_rows() {
  std::vector<RewriteRow> rows;
  for (const std::string_view op : view_op_names()) rows.push_back({op, view});
  for (const char* op :
       {"aten.broadcast_tensors.default", "aten.meshgrid.default", "aten.meshgrid.indexing"}) {
    rows.push_back({op, each_its_own_view});
  }
  rows.push_back({"aten.native_dropout.default", native_dropout});
  return rows;
}

}  // namespace

std::span<const RewriteRow> view_rewrites() {
  static const std::vector<RewriteRow> rows = make_rows();
  return rows;
}

}  // namespace unfuse::passes
