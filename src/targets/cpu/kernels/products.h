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
  /// On tiles too, each side as a sum of two bfloat16, high + low. Of the four products that of the
  /// low parts is left out: it is below 2^-17 of the whole. A float16 is such a sum exactly; of a
  /// float32, 16 of its 24 bits are kept. Infinity times infinity gives NaN.
  kSplitTiles,
};

/// How operands are packed.
enum class Packing : std::uint8_t {
  kFloat32,
  kPairs,       ///< pairs of bfloat16 along the depth
  kSplitPairs,  ///< first those of the high parts, then those of the low ones
};

inline Packing packing_of(Products products) {
  switch (products) {
    case Products::kFloat32:
      return Packing::kFloat32;
    case Products::kBFloat16:
    case Products::kBFloat16Tiles:
      return Packing::kPairs;
    case Products::kSplitTiles:
      return Packing::kSplitPairs;
  }
  return Packing::kFloat32;
}

inline bool are_on_tiles(Products products) {
  return products == Products::kBFloat16Tiles || products == Products::kSplitTiles;
}

}  // namespace unfuse::cpu
