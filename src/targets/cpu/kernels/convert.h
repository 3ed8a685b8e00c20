// 16-bit floats to and from float32, exactly as IEEE 754 rounds (to nearest, ties to even).
#pragma once

#include <bit>
#include <cstdint>

namespace unfuse::cpu {

float float16_to_float32(std::uint16_t bits);
/// NaN stays NaN, values too large become infinity, small ones subnormal.
std::uint16_t float32_to_float16(float value);

inline float bfloat16_to_float32(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}
std::uint16_t float32_to_bfloat16(float value);

/// `count` contiguous elements; vectorised.
void float16_to_float32(const std::uint16_t* from, float* to, std::int64_t count);
void float32_to_float16(const float* from, std::uint16_t* to, std::int64_t count);
void bfloat16_to_float32(const std::uint16_t* from, float* to, std::int64_t count);
void float32_to_bfloat16(const float* from, std::uint16_t* to, std::int64_t count);

/// high + low is `from`, but for what its 16th and following bits are worth. What is not finite has
/// low = 0, and a third part that is 0 where the others have `high`: (high, low, finite) times
/// (high, high, low) of another number is their product, infinities included.
void split_float32(const float* from, std::uint16_t* high, std::uint16_t* low,
                   std::uint16_t* finite, std::int64_t count);

}  // namespace unfuse::cpu
