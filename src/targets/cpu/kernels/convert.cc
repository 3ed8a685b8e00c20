#include "targets/cpu/kernels/convert.h"

#include "targets/cpu/kernels/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "targets/cpu/kernels/convert.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

// The same for every instruction set: plain integer code.
#ifndef UNFUSE_CONVERT_SCALAR
#define UNFUSE_CONVERT_SCALAR
namespace unfuse::cpu {

float float16_to_float32(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7FFFu;
  if (magnitude >= 0x7C00u) {  // infinity and NaN keep their payload
    return std::bit_cast<float>(sign | 0x7F800000u | (magnitude & 0x3FFu) << 13);
  }
  if (magnitude >= 0x0400u) {  // the exponent moves from bias 15 to 127
    return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  }
  const float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(subnormal));
}

std::uint16_t float32_to_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<std::uint16_t>(sign | 0x7E00u);
  // From 65520 on, values round to infinity.
  if (magnitude >= 0x477FF000u) return static_cast<std::uint16_t>(sign | 0x7C00u);
  if (magnitude <
      0x38800000u) {  // below 2^-14: adding 0.5 leaves the rounded subnormal in the bits
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000u));
  }
  const std::uint32_t odd = magnitude >> 13 & 1u;
  return static_cast<std::uint16_t>(sign | (magnitude - (112u << 23) + 0xFFFu + odd) >> 13);
}

std::uint16_t float32_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace unfuse::cpu
#endif  // UNFUSE_CONVERT_SCALAR

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {
#if UNFUSE_HARDWARE_FLOAT16
namespace hn = hwy::HWY_NAMESPACE;
#endif

void widen_float16(const std::uint16_t* from, float* to, std::int64_t count) {
  std::int64_t i = 0;
#if UNFUSE_HARDWARE_FLOAT16
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> d16;
  const hn::Rebind<std::uint16_t, decltype(d)> du16;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) {
    const auto half = hn::BitCast(d16, hn::LoadU(du16, from + i));
    hn::StoreU(hn::PromoteTo(d, half), d, to + i);
  }
#endif
  for (; i < count; ++i) to[i] = float16_to_float32(from[i]);
}

void narrow_float16(const float* from, std::uint16_t* to, std::int64_t count) {
  std::int64_t i = 0;
#if UNFUSE_HARDWARE_FLOAT16
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> d16;
  const hn::Rebind<std::uint16_t, decltype(d)> du16;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) {
    const auto half = hn::DemoteTo(d16, hn::LoadU(d, from + i));
    hn::StoreU(hn::BitCast(du16, half), du16, to + i);
  }
#endif
  for (; i < count; ++i) to[i] = float32_to_float16(from[i]);
}

// Plain loops: the compiler vectorises them for each target.
void widen_bfloat16(const std::uint16_t* HWY_RESTRICT from, float* HWY_RESTRICT to,
                    std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16);
  }
}

void narrow_bfloat16(const float* HWY_RESTRICT from, std::uint16_t* HWY_RESTRICT to,
                     std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(from[i]);
    const std::uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
    const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
    to[i] = static_cast<std::uint16_t>(is_nan ? bits >> 16 | 0x40u : rounded);
  }
}

void split(const float* HWY_RESTRICT from, std::uint16_t* HWY_RESTRICT high,
           std::uint16_t* HWY_RESTRICT low, std::uint16_t* HWY_RESTRICT finite,
           std::int64_t count) {
  const auto rounded = [](std::uint32_t bits) {
    return (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(from[i]);
    const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
    const std::uint32_t first = is_nan ? bits >> 16 | 0x40u : rounded(bits);
    const bool is_finite = (first & 0x7F80u) != 0x7F80u;
    const float rest = from[i] - std::bit_cast<float>(first << 16);
    const std::uint32_t second = rounded(std::bit_cast<std::uint32_t>(rest));
    high[i] = static_cast<std::uint16_t>(first);
    low[i] = static_cast<std::uint16_t>(is_finite ? second : 0u);
    finite[i] = static_cast<std::uint16_t>(is_finite ? first : 0u);
  }
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfuse::cpu {

HWY_EXPORT(widen_float16);
HWY_EXPORT(narrow_float16);
HWY_EXPORT(widen_bfloat16);
HWY_EXPORT(narrow_bfloat16);
HWY_EXPORT(split);

void float16_to_float32(const std::uint16_t* from, float* to, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(widen_float16)(from, to, count);
}
void float32_to_float16(const float* from, std::uint16_t* to, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(narrow_float16)(from, to, count);
}
void bfloat16_to_float32(const std::uint16_t* from, float* to, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(widen_bfloat16)(from, to, count);
}
void float32_to_bfloat16(const float* from, std::uint16_t* to, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(narrow_bfloat16)(from, to, count);
}
void split_float32(const float* from, std::uint16_t* high, std::uint16_t* low,
                   std::uint16_t* finite, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(split)(from, high, low, finite, count);
}

}  // namespace unfuse::cpu
#endif  // HWY_ONCE
