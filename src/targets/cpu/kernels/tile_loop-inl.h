// Loops of a vector expression over float32 tiles. Included once for each instruction set.
#if defined(UNFUSE_TILE_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNFUSE_TILE_LOOP_INL_H_
#undef UNFUSE_TILE_LOOP_INL_H_
#else
#define UNFUSE_TILE_LOOP_INL_H_
#endif

#include <limits>

#include "hwy/highway.h"
#include "targets/cpu/kernels/partial_vectors-inl.h"
#include "targets/cpu/kernels/pointwise_functions.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The functions below are lambdas (D, V ...) -> V, so that a table of ops can hold them in place.

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// An instruction's parameters as float32.
struct Parameters {
  float value[3];
};

/// Calls step(d, offset) for every vector, and tail(d, offset, count) once for what is left.
template <class Step, class Tail>
HWY_INLINE void for_each_vector(std::int64_t count, const Step& step, const Tail& tail) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) step(d, i);
  if (i < count) tail(d, i, count - i);
}

template <auto kFunction>
void tile1(const TileCall& call) {
  const auto* a = static_cast<const float*>(call.arguments[0]);
  auto* result = static_cast<float*>(call.result);
  const auto& given = *call.parameters;
  const Parameters p = {
      {static_cast<float>(given[0]), static_cast<float>(given[1]), static_cast<float>(given[2])}};
  for_each_vector(
      call.count,
      [&](auto d, std::int64_t i)
          HWY_ATTR { hn::StoreU(kFunction(d, hn::LoadU(d, a + i), p), d, result + i); },
      [&](auto d, std::int64_t i, std::int64_t count) HWY_ATTR {
        store_partial(d, kFunction(d, load_partial(d, a + i, count), p), count, result + i);
      });
}

template <auto kFunction>
void tile2(const TileCall& call) {
  const auto* a = static_cast<const float*>(call.arguments[0]);
  const auto* b = static_cast<const float*>(call.arguments[1]);
  auto* result = static_cast<float*>(call.result);
  for_each_vector(
      call.count,
      [&](auto d, std::int64_t i) HWY_ATTR {
        hn::StoreU(kFunction(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, result + i);
      },
      [&](auto d, std::int64_t i, std::int64_t count) HWY_ATTR {
        const auto left = load_partial(d, a + i, count);
        const auto right = load_partial(d, b + i, count);
        store_partial(d, kFunction(d, left, right), count, result + i);
      });
}

template <auto kFunction>
void tile3(const TileCall& call) {
  const auto* a = static_cast<const float*>(call.arguments[0]);
  const auto* b = static_cast<const float*>(call.arguments[1]);
  const auto* c = static_cast<const float*>(call.arguments[2]);
  auto* result = static_cast<float*>(call.result);
  for_each_vector(
      call.count,
      [&](auto d, std::int64_t i) HWY_ATTR {
        const auto first = hn::LoadU(d, a + i);
        const auto second = hn::LoadU(d, b + i);
        hn::StoreU(kFunction(d, first, second, hn::LoadU(d, c + i)), d, result + i);
      },
      [&](auto d, std::int64_t i, std::int64_t count) HWY_ATTR {
        const auto first = load_partial(d, a + i, count);
        const auto second = load_partial(d, b + i, count);
        const auto third = load_partial(d, c + i, count);
        store_partial(d, kFunction(d, first, second, third), count, result + i);
      });
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // UNFUSE_TILE_LOOP_INL_H_
