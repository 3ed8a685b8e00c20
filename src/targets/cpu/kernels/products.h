// What kernels multiply.
#pragma once

#include <cstdint>

namespace unfuse::cpu {

/// Sums are float32 in all cases.
enum class Products : std::uint8_t {
  kFloat32,
  kBFloat16,  ///< both sides are rounded to bfloat16, whose products are exact
  /// The same on the tile registers of AMX, which take subnormal numbers for zero. Nothing that is
  /// packed knows the difference.
  kBFloat16Tiles,
};

inline bool are_bfloat16(Products products) { return products != Products::kFloat32; }

}  // namespace unfuse::cpu
