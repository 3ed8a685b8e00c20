// Masks of attention: what a part of one hides, and adding it to the scores. Included once for each
// instruction set.
#if defined(UNFUSE_ATTENTION_MASK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNFUSE_ATTENTION_MASK_INL_H_
#undef UNFUSE_ATTENTION_MASK_INL_H_
#else
#define UNFUSE_ATTENTION_MASK_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "targets/cpu/kernels/attention_pack-inl.h"
#include "targets/cpu/kernels/attention_tile.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

AttentionMaskSummary summarize_bools(const std::uint8_t* mask, std::int64_t count) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto n = static_cast<std::int64_t>(hn::Lanes(d));
  const auto zero = hn::Zero(d);
  auto any = zero;
  auto hidden = zero;  // all bits set where one was false
  std::int64_t i = 0;
  for (; i + n <= count; i += n) {
    const auto values = hn::LoadU(d, mask + i);
    any = hn::Or(any, values);
    hidden = hn::Or(hidden, hn::VecFromMask(d, hn::Eq(values, zero)));
  }
  bool attends_some = !hn::AllTrue(d, hn::Eq(any, zero));
  bool hides_some = !hn::AllTrue(d, hn::Eq(hidden, zero));
  for (; i < count; ++i) (mask[i] != 0 ? attends_some : hides_some) = true;
  return {!hides_some, !attends_some, kMinusInfinity};
}

/// Numbers below this are what models hide keys with where they do not use -inf.
constexpr float kFaint = -5000;

AttentionMaskSummary summarize_floats(const float* mask, std::int64_t count) {
  const D d;
  const std::int64_t n = lanes();
  AttentionMaskSummary summary = {true, true, kMinusInfinity};
  V largest = hn::Set(d, kMinusInfinity);
  for (std::int64_t i = 0; i < count && (summary.is_transparent || summary.is_opaque); i += n) {
    const V values =
        i + n <= count ? hn::LoadU(d, mask + i) : load_partial(d, mask + i, count - i, mask[i]);
    // Not true for NaN, which is neither.
    summary.is_transparent &= hn::AllTrue(d, hn::Eq(values, hn::Zero(d)));
    summary.is_opaque &= hn::AllTrue(d, hn::Le(values, hn::Set(d, kFaint)));
    largest = hn::Max(values, largest);
  }
  summary.largest = hn::GetLane(hn::MaxOfLanes(d, largest));
  return summary;
}

AttentionMaskSummary summarize_mask(AttentionMaskKind kind, const void* mask, std::int64_t count) {
  if (kind == AttentionMaskKind::kBool) {
    return summarize_bools(static_cast<const std::uint8_t*>(mask), count);
  }
  if (kind == AttentionMaskKind::kFloat) {
    return summarize_floats(static_cast<const float*>(mask), count);
  }
  return {true, false, 0};
}

/// What is added to the scores of the keys from `i` on; beyond `count`, anything.
template <AttentionMaskKind kKind>
HWY_INLINE V load_mask(const void* mask, std::int64_t i, std::int64_t count) {
  const D d;
  if constexpr (kKind == AttentionMaskKind::kNone) {
    return hn::Zero(d);
  } else if constexpr (kKind == AttentionMaskKind::kFloat) {
    const float* from = static_cast<const float*>(mask) + i;
    return i + lanes() <= count ? hn::LoadU(d, from) : load_partial(d, from, count - i);
  } else {
    const hn::Rebind<std::uint8_t, D> du8;
    const hn::RebindToUnsigned<D> du;
    HWY_ALIGN std::uint8_t buffer[HWY_MAX_BYTES / sizeof(float)] = {};
    const std::uint8_t* from = static_cast<const std::uint8_t*>(mask) + i;
    if (i + lanes() > count) {
      std::memcpy(buffer, from, static_cast<std::size_t>(count - i));
      from = buffer;
    }
    const auto bytes = hn::PromoteTo(du, hn::LoadU(du8, from));
    const auto is_hidden = hn::RebindMask(d, hn::Eq(bytes, hn::Zero(du)));
    return hn::IfThenElseZero(is_hidden, hn::Set(d, kMinusInfinity));
  }
}

/// Models hide keys with the lowest float32 there is; times log2(e), it must not become -inf.
constexpr float kLeastScore = -2e38f;

/// Scales, adds the mask; returns the largest scores. What the last vector holds beyond `visible`
/// becomes -inf.
template <AttentionMaskKind kKind>
V mask_row(const void* mask, float scale, std::int64_t visible, float* scores) {
  const D d;
  const V factor = hn::Set(d, scale);
  const V lowest = hn::Set(d, kMinusInfinity);
  const V least = hn::Set(d, kLeastScore);
  V largest = lowest;
  for (std::int64_t i = 0; i < visible; i += lanes()) {
    V score = hn::MulAdd(hn::LoadU(d, scores + i), factor, load_mask<kKind>(mask, i, visible));
    const auto is_too_low = hn::And(hn::Lt(score, least), hn::Gt(score, lowest));
    score = hn::IfThenElse(is_too_low, least, score);
    if (i + lanes() > visible) {
      const auto is_visible = hn::FirstN(d, static_cast<std::size_t>(visible - i));
      score = hn::IfThenElse(is_visible, score, lowest);
    }
    hn::StoreU(score, d, scores + i);
    largest = hn::Max(score, largest);  // this order keeps the old one when a score is NaN
  }
  return largest;
}

HWY_INLINE V mask_row(AttentionMaskKind kind, const void* mask, float scale, std::int64_t visible,
                      float* scores) {
  switch (kind) {
    case AttentionMaskKind::kNone:
      return mask_row<AttentionMaskKind::kNone>(mask, scale, visible, scores);
    case AttentionMaskKind::kBool:
      return mask_row<AttentionMaskKind::kBool>(mask, scale, visible, scores);
    default:
      return mask_row<AttentionMaskKind::kFloat>(mask, scale, visible, scores);
  }
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // UNFUSE_ATTENTION_MASK_INL_H_
