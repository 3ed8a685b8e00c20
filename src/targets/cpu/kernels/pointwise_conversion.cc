// Between register types, and rounding to 16-bit floats.
#include <algorithm>

#include "targets/cpu/kernels/convert.h"
#include "targets/cpu/kernels/pointwise_functions.h"
#include "targets/cpu/kernels/tile_io.h"

namespace unfuse::cpu {
namespace {

/// A register as elements in memory.
DType register_dtype(RegisterType type) {
  switch (type) {
    case RegisterType::kFloat32:
      return DType::kFloat32;
    case RegisterType::kFloat64:
      return DType::kFloat64;
    case RegisterType::kInt64:
      return DType::kInt64;
  }
  return DType::kInt64;
}

template <RegisterType kFrom, RegisterType kTo>
void convert_tile(const TileCall& call) {
  static const LoadFunction load = load_function(register_dtype(kFrom), kTo);
  load(call.arguments[0], 1, call.count, call.result);
}

template <RegisterType kTo>
TileFunction conversion_to(RegisterType from) {
  switch (from) {
    case RegisterType::kFloat32:
      return convert_tile<RegisterType::kFloat32, kTo>;
    case RegisterType::kFloat64:
      return convert_tile<RegisterType::kFloat64, kTo>;
    case RegisterType::kInt64:
      return convert_tile<RegisterType::kInt64, kTo>;
  }
  return nullptr;
}

/// There and back, a few elements at a time.
template <auto kNarrow, auto kWiden>
void round_tile(const TileCall& call) {
  constexpr std::int64_t kChunk = 256;
  std::uint16_t narrow[kChunk];
  const auto* from = static_cast<const float*>(call.arguments[0]);
  auto* to = static_cast<float*>(call.result);
  for (std::int64_t i = 0; i < call.count; i += kChunk) {
    const std::int64_t count = std::min(kChunk, call.count - i);
    kNarrow(from + i, narrow, count);
    kWiden(narrow, to + i, count);
  }
}

using Narrow = void (*)(const float*, std::uint16_t*, std::int64_t);
using Widen = void (*)(const std::uint16_t*, float*, std::int64_t);

}  // namespace

TileFunction conversion_function(PointwiseOp op, RegisterType argument) {
  const bool is_float32 = argument == RegisterType::kFloat32;
  switch (op) {
    case PointwiseOp::kToFloat32:
      return conversion_to<RegisterType::kFloat32>(argument);
    case PointwiseOp::kToFloat64:
      return conversion_to<RegisterType::kFloat64>(argument);
    case PointwiseOp::kToInt64:
      return conversion_to<RegisterType::kInt64>(argument);
    case PointwiseOp::kRoundToFloat16:
      return is_float32 ? round_tile<Narrow{float32_to_float16}, Widen{float16_to_float32}>
                        : nullptr;
    case PointwiseOp::kRoundToBFloat16:
      return is_float32 ? round_tile<Narrow{float32_to_bfloat16}, Widen{bfloat16_to_float32}>
                        : nullptr;
    default:
      return nullptr;
  }
}

TileFunction tile_function(PointwiseOp op, RegisterType argument) {
  if (const TileFunction function = conversion_function(op, argument)) return function;
  switch (argument) {
    case RegisterType::kFloat32:
      return float32_function(op);
    case RegisterType::kFloat64:
      return float64_function(op);
    case RegisterType::kInt64:
      return int64_function(op);
  }
  return nullptr;
}

}  // namespace unfuse::cpu
