// Rows without those that padding fills.
#include "targets/cpu/kernels/packed_rows.h"

#include "targets/cpu/lowering/checks.h"
#include "targets/cpu/lowering/families.h"
#include "targets/cpu/lowering/view_algebra.h"

namespace unfuse::cpu {
namespace {

void lower_packed_rows(const Node& node, LoweringContext& context) {
  const View kept = context.view(node.input(0));
  std::vector<View> results;
  for (const Value* result : node.results()) results.push_back(context.result(result));
  context.emit(select_packed_rows({kept.spec}), {kept}, results);
}

/// The operand as a matrix of rows, each contiguous; a copy where it is none.
View as_rows(LoweringContext& context, const View& view, const Sizes& matrix) {
  const std::optional<View> rows = reshaped(view, matrix);
  if (rows && trailing_dims_contiguous(rows->spec, 1)) return *rows;
  return *reshaped(context.contiguous(view), matrix);
}

Sizes matrix_of(const View& view, std::int64_t rows) {
  return {rows, rows == 0 ? 0 : view.numel() / rows};
}

void lower_pack_rows(const Node& node, LoweringContext& context) {
  const View offsets = context.view(node.argument("offsets").value());
  const View sources = context.view(node.argument("sources").value());
  const View to = context.contiguous_result(node.result());
  const Sizes matrix = matrix_of(to, sources.size(0));
  const View input = as_rows(context, context.view(node.input(0)), matrix);
  const View output = *reshaped(to, matrix);
  context.emit(select_pack_rows({offsets.size(0) - 1, input.spec, output.spec, context.threads()}),
               {offsets, sources, input}, {output});
}

void lower_unpack_rows(const Node& node, LoweringContext& context) {
  const View places = context.view(node.argument("places").value());
  const View to = context.contiguous_result(node.result());
  const Sizes matrix = matrix_of(to, places.size(0));
  const View input = as_rows(context, context.view(node.input(0)), matrix);
  const View output = *reshaped(to, matrix);
  context.emit(select_unpack_rows({input.spec, output.spec, context.threads()}), {places, input},
               {output});
}

constexpr LoweringRow kRows[] = {
    {"unfuse.packed_rows", refuse_from_outside, lower_packed_rows},
    {"unfuse.pack_rows", refuse_from_outside, lower_pack_rows},
    {"unfuse.unpack_rows", refuse_from_outside, lower_unpack_rows},
};

}  // namespace

std::span<const LoweringRow> packed_rows_lowerings() { return kRows; }

}  // namespace unfuse::cpu
