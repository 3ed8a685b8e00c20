#include "targets/cpu/kernels/attention_mask.h"

#include <algorithm>
#include <limits>

namespace unfuse::cpu {
namespace {

/// Keys that are looked at together when the visible ones are searched.
constexpr std::int64_t kSearchStep = 256;

}  // namespace

AttentionMask::AttentionMask(const AttentionSpec& spec, const AttentionShape& shape,
                             const AttentionFunctions& functions)
    : shape_(&shape), functions_(functions), strides_(shape.mask) {
  if (spec.mask) element_bytes_ = spec.mask->dtype == DType::kBool ? 1 : 4;
}

const std::byte* AttentionMask::of_group(const void* base, std::int64_t group) const {
  return static_cast<const std::byte*>(base) + shape_->offset(strides_, group) * element_bytes_;
}

bool AttentionMask::is_same_for(const AttentionRowSet& rows) const {
  return strides_.row == 0 && (strides_.head == 0 || rows.heads == 1);
}

std::int64_t AttentionMask::scratch_size(std::int64_t rows, std::int64_t keys) const {
  return exists() && strides_.column != 1 ? rows * keys : 0;
}

void AttentionMask::copy_row(const std::byte* from, std::int64_t count, float* to) const {
  const std::int64_t stride = strides_.column;
  if (element_bytes_ == 4) {
    const auto* values = reinterpret_cast<const float*>(from);
    for (std::int64_t i = 0; i < count; ++i) to[i] = values[i * stride];
    return;
  }
  const float lowest = -std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * stride] != std::byte{0} ? 0.0f : lowest;
}

AttentionMaskKind AttentionMask::point_at(const std::byte* group_mask, const AttentionRowSet& rows,
                                          std::int64_t first, std::int64_t count, KeyRange keys,
                                          float* scratch, const void** masks) const {
  if (!exists()) return AttentionMaskKind::kNone;
  const bool is_in_place = strides_.column == 1;
  const bool is_same = is_same_for(rows);
  for (std::int64_t r = 0; r < count; ++r) {
    if (r > 0 && is_same) {
      masks[r] = masks[0];
      continue;
    }
    const std::int64_t element = rows.offset(strides_, first + r) + keys.begin * strides_.column;
    const std::byte* from = group_mask + element * element_bytes_;
    masks[r] = from;
    if (is_in_place) continue;
    float* copy = scratch + r * keys.size();
    copy_row(from, keys.size(), copy);
    masks[r] = copy;
  }
  return is_in_place && element_bytes_ == 1 ? AttentionMaskKind::kBool : AttentionMaskKind::kFloat;
}

AttentionMaskSummary AttentionMask::summarize(AttentionMaskKind kind, const void* const* masks,
                                              std::int64_t rows, std::int64_t keys) const {
  AttentionMaskSummary all = functions_.summarize_mask(kind, masks[0], keys);
  for (std::int64_t r = 1; r < rows && (all.is_transparent || all.is_opaque); ++r) {
    if (masks[r] == masks[r - 1]) continue;
    const AttentionMaskSummary row = functions_.summarize_mask(kind, masks[r], keys);
    all.is_transparent &= row.is_transparent;
    all.is_opaque &= row.is_opaque;
    all.largest = std::max(all.largest, row.largest);
  }
  return all;
}

KeyRange AttentionMask::visible(const std::byte* group_mask, const AttentionRowSet& rows,
                                KeyRange keys, float* scratch) const {
  const void* mask = nullptr;
  const auto is_opaque = [&](std::int64_t begin, std::int64_t end) {
    const AttentionMaskKind kind = point_at(group_mask, rows, 0, 1, {begin, end}, scratch, &mask);
    return functions_.summarize_mask(kind, mask, end - begin).is_opaque;
  };
  while (keys.size() > 0) {
    const std::int64_t step = std::min(kSearchStep, keys.size());
    if (!is_opaque(keys.begin, keys.begin + step)) break;
    keys.begin += step;
  }
  while (keys.size() > 0 && is_opaque(keys.begin, keys.begin + 1)) ++keys.begin;
  while (keys.size() > 0) {
    const std::int64_t step = std::min(kSearchStep, keys.size());
    if (!is_opaque(keys.end - step, keys.end)) break;
    keys.end -= step;
  }
  while (keys.size() > 0 && is_opaque(keys.end - 1, keys.end)) --keys.end;
  return keys;
}

}  // namespace unfuse::cpu
