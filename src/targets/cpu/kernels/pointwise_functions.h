// One function an op and register type, each over one tile.
#pragma once

#include <array>
#include <cstdint>

#include "targets/cpu/kernels/pointwise.h"

namespace unfuse::cpu {

/// What a tile function gets: contiguous registers of `count` elements. `result` may be one of the
/// arguments.
struct TileCall {
  std::array<const void*, 3> arguments;
  void* result;
  std::int64_t count;
  const std::array<double, 3>* parameters;
};

using TileFunction = void (*)(const TileCall& call);

/// The function of an instruction that computes from registers of type `argument`; null when there
/// is none. Not for kConstant and kCoordinate.
TileFunction tile_function(PointwiseOp op, RegisterType argument);

/// Of these it is made. Null when the op does not exist for the type.
TileFunction float32_function(PointwiseOp op);
TileFunction float64_function(PointwiseOp op);
TileFunction int64_function(PointwiseOp op);

/// To another register type, kToFloat32 and so on, and the roundings to 16 bits.
TileFunction conversion_function(PointwiseOp op, RegisterType argument);

/// Of these float32_function is made.
TileFunction float32_arithmetic_function(PointwiseOp op);      // Highway
TileFunction float32_transcendental_function(PointwiseOp op);  // Highway
TileFunction float32_library_function(PointwiseOp op);         // the C library, one by one

}  // namespace unfuse::cpu
