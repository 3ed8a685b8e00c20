// What this machine can do at most: what results are compared with, by the benchmarks and by
// profiles.
#pragma once

#include <cstddef>

#include "targets/cpu/kernels/aligned_buffer.h"
#include "targets/cpu/kernels/products.h"

namespace unfuse::cpu {

inline constexpr double kMeasuringSeconds = 0.02;

/// FLOP/s of float32 multiply-adds (two each) that stay in registers, on `threads` threads, in the
/// instruction set that the kernels would use now. Takes about `seconds`; measure it next to what
/// is compared with it, since it drifts with the machine's clock and load. In
/// products of bfloat16, the same of those; 0 where the machine has none.
double measure_arithmetic_limit(int threads, double seconds = kMeasuringSeconds,
                                Products products = Products::kFloat32);

/// Reads memory, not caches: keeps a buffer that no cache holds.
class BandwidthMeter {
 public:
  /// `bytes`: of the buffer, several times the last cache's.
  explicit BandwidthMeter(std::size_t bytes = std::size_t{256} << 20);
  /// Bytes/s that `threads` threads read together. Takes about 50 ms on 20 GB/s.
  double measure(int threads) const;

 private:
  AlignedBuffer buffer_;
};

}  // namespace unfuse::cpu
