// The ends of rows, where less than a vector of float32 is left. Included once for each instruction
// set.
#if defined(UNFUSE_PARTIAL_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNFUSE_PARTIAL_VECTORS_INL_H_
#undef UNFUSE_PARTIAL_VECTORS_INL_H_
#else
#define UNFUSE_PARTIAL_VECTORS_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// `count` elements, fewer than a vector; the rest is `rest`.
template <class D>
HWY_INLINE hn::Vec<D> load_partial(D d, const float* from, std::int64_t count, float rest = 0.0f) {
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(hn::Set(d, rest), d, buffer);
  for (std::int64_t i = 0; i < count; ++i) buffer[i] = from[i];
  return hn::Load(d, buffer);
}

template <class D, class V>
HWY_INLINE void store_partial(D d, V value, std::int64_t count, float* to) {
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(value, d, buffer);
  for (std::int64_t i = 0; i < count; ++i) to[i] = buffer[i];
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // UNFUSE_PARTIAL_VECTORS_INL_H_
