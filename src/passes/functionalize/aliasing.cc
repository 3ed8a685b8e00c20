#include "passes/functionalize/aliasing.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace unfuse::passes {
namespace {

using Decide = Answer (*)(const Node& node, const Value* self, const Value* result,
                          const SymbolRanges& symbols);

Answer always(const Node&, const Value*, const Value*, const SymbolRanges&) { return Answer::kYes; }

Answer when_viewable(const Node&, const Value* self, const Value* result,
                     const SymbolRanges& symbols) {
  // What was recorded in another order than a copy would have is a view for sure.
  if (!result->tensor().is_contiguous()) return Answer::kYes;
  return can_be_viewed(self->tensor(), result->sizes(), symbols);
}

Answer layout_kept(const Value* self, const Value* result, const Argument& format) {
  const auto* wanted = format.get_if<MemoryFormat>();
  if (wanted == nullptr || *wanted == MemoryFormat::kPreserve) return Answer::kYes;
  if (*wanted == MemoryFormat::kContiguous && self->tensor().is_contiguous()) return Answer::kYes;
  if (self->tensor().strides != result->tensor().strides) return Answer::kNo;
  return *wanted == MemoryFormat::kContiguous ? Answer::kUnknown : Answer::kYes;
}

Answer when_contiguous(const Node& node, const Value* self, const Value* result,
                       const SymbolRanges&) {
  return layout_kept(self, result, node.argument("memory_format"));
}

bool same_kind(const Value* self, const Value* result) {
  return self->dtype() == result->dtype() && self->tensor().device == result->tensor().device;
}

Answer when_nothing_converts(const Node& node, const Value* self, const Value* result,
                             const SymbolRanges&) {
  if (!same_kind(self, result) || node.argument("copy").boolean()) return Answer::kNo;
  return layout_kept(self, result, node.argument("memory_format"));
}

Answer when_same_kind(const Node&, const Value* self, const Value* result, const SymbolRanges&) {
  return same_kind(self, result) ? Answer::kYes : Answer::kNo;
}

// Ops whose schema does not tell: marked as aliasing though they may copy, or the other way round.
const std::unordered_map<std::string_view, Decide>& undecided_ops() {
  static const std::unordered_map<std::string_view, Decide> table = {
      {"aten.alpha_dropout.default", always},
      {"aten.atleast_1d.default", always},
      {"aten.atleast_2d.default", always},
      {"aten.atleast_3d.default", always},
      {"aten.contiguous.default", when_contiguous},
      {"aten.dropout.default", always},
      {"aten.feature_alpha_dropout.default", always},
      {"aten.feature_dropout.default", always},
      {"aten.flatten.using_ints", when_viewable},
      {"aten.lift.default", always},
      {"aten.ravel.default", when_viewable},
      {"aten.reshape.default", when_viewable},
      {"aten.reshape_as.default", when_viewable},
      {"aten.to.device", when_nothing_converts},
      {"aten.to.dtype", when_nothing_converts},
      {"aten.to.dtype_layout", when_nothing_converts},
      {"aten.to.other", when_nothing_converts},
      {"aten.type_as.default", when_same_kind},
  };
  return table;
}

bool marked_as_alias(const Node& node, int result) {
  const Schema& schema = node.op().schema;
  if (schema.returns.empty() || schema.arguments.empty()) return false;
  // A list result is flattened: all its elements have the one mark.
  const auto place =
      std::min<std::size_t>(static_cast<std::size_t>(result), schema.returns.size() - 1);
  return !schema.returns[place].alias_set.empty();
}

ViewStep step_or_replay(const Node& node, int result, const SymbolRanges& symbols) {
  if (auto step = view_step(node, result, symbols)) return *step;
  ViewStep other;
  other.kind = ViewStep::Kind::kOther;
  other.node = &node;
  other.result = result;
  return other;
}

}  // namespace

bool overlaps(const TensorType& type) {
  for (std::size_t i = 0; i < type.sizes.size(); ++i) {
    if (type.strides[i] == Dim(0) && type.sizes[i] != Dim(1)) return true;
  }
  return false;
}

// As eager decides (computeStride in TensorUtils.cpp): dimensions that lie one after the other in
// memory are one run, and the wanted sizes must cut each run exactly.
Answer can_be_viewed(const TensorType& type, const std::vector<Dim>& wanted,
                     const SymbolRanges& symbols) {
  if (type.is_contiguous() || type.sizes == wanted) return Answer::kYes;
  const auto have = constants(type.sizes);
  const auto strides = constants(type.strides);
  const auto want = constants(wanted);
  if (!have || !strides || !want) return Answer::kUnknown;
  (void)symbols;
  std::int64_t count = 1;
  for (const std::int64_t size : *have) count *= size;
  if (count == 0) return Answer::kYes;
  auto place = static_cast<std::int64_t>(want->size()) - 1;
  std::int64_t run = 1;
  std::int64_t covered = 1;
  for (auto i = static_cast<std::int64_t>(have->size()) - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    run *= (*have)[at];
    const std::int64_t base = (*strides)[at] * (*have)[at];
    const bool ends_run = i == 0 || ((*have)[at - 1] != 1 && (*strides)[at - 1] != base);
    if (!ends_run) continue;
    while (place >= 0 && (covered < run || (*want)[static_cast<std::size_t>(place)] == 1)) {
      covered *= (*want)[static_cast<std::size_t>(place--)];
    }
    if (covered != run) return Answer::kNo;
    run = covered = 1;
  }
  return place == -1 ? Answer::kYes : Answer::kNo;
}

Aliasing aliasing_of(const Node& node, int result, const SymbolRanges& symbols) {
  const bool reads_a_tensor = !node.arguments().empty() && !node.operands().empty();
  if (!reads_a_tensor || !node.result(result)->is_tensor()) return {};
  const auto undecided = undecided_ops().find(node.op().name);
  if (undecided == undecided_ops().end()) {
    if (!marked_as_alias(node, result)) return {};
    return {Answer::kYes, step_or_replay(node, result, symbols)};
  }
  const auto step = view_step(node, result, symbols);
  // Dropout in training, and conversions, which have no step: only the same tensor is an alias.
  const bool converts = node.is("aten.type_as.default") || node.op().name.starts_with("aten.to.");
  if (!step && !converts) return {};
  const Answer shares = undecided->second(node, node.input(0), node.result(result), symbols);
  return {shares, step.value_or(ViewStep{})};
}

}  // namespace unfuse::passes
