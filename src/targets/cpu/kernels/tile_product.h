// Products of bfloat16 by the tile registers of AMX: on x86-64, and where has_tile_products().
#pragma once

#include <cstdint>

namespace unfuse::cpu {

/// Rows of `left` and columns of `right` are computed so many at a time, and so many elements along
/// the depth.
inline constexpr std::int64_t kTile = 16;

/// sums[r, n] (+)= sum over k of left[r, k] . right[k, n], where elements of both sides are pairs
/// of bfloat16 (see PanelBlock). Subnormal numbers count as zero.
struct TileProduct {
  const float* left = nullptr;  ///< [rows in whole tiles, depth], stride 1 along depth
  std::int64_t left_stride = 0;
  std::int64_t rows = 0;
  const float* right = nullptr;  ///< [depth, columns], stride 1 along columns
  std::int64_t right_stride = 0;
  std::int64_t columns = 0;  ///< a multiple of kTile
  std::int64_t depth = 0;    ///< a multiple of kTile
  bool adds = false;         ///< to what the sums are
  float* sums = nullptr;     ///< [rows in whole tiles, columns], stride 1 along columns
  std::int64_t sums_stride = 0;
};

/// The registers, in full size as long as it lives: for a short time, since other libraries may
/// want other sizes, and threads whose registers are in use are dearer to switch.
class TileRegisters {
 public:
  TileRegisters();
  ~TileRegisters();
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;
};

void multiply_tiles(const TileRegisters& registers, const TileProduct& product);

/// Multiplies what is in the registers, again and again: what the machine can do at most. Gives the
/// FLOPs done.
double multiply_tiles_in_registers(std::int64_t rounds);

}  // namespace unfuse::cpu
