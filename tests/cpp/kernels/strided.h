// Strided operands in memory with guarded gaps, for tests of kernels against naive references.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu::testing {

using Index = std::vector<std::int64_t>;

/// Calls visit with every index below sizes, in row-major order.
void for_each_index(const Sizes& sizes, const std::function<void(const Index&)>& visit);

/// How the dims of an operand lie in memory.
struct Placement {
  std::vector<int> order;       ///< dims from outermost to innermost; empty: as they are
  std::int64_t gap = 0;         ///< elements left unused after each run of the innermost dim
  std::int64_t inner_step = 1;  ///< stride of the innermost dim
  std::vector<int> broadcast;   ///< dims with stride 0
};

OperandSpec placed(DType dtype, const Sizes& sizes, const Placement& placement = {});

/// An operand and its memory. Elements are read and written as double, whatever the dtype.
class Strided {
 public:
  explicit Strided(OperandSpec spec);
  const OperandSpec& spec() const { return spec_; }
  void* data() { return memory_.data() + kGuardBytes; }
  double get(const Index& index) const;
  void set(const Index& index, double value);
  void fill(const std::function<double(const Index&)>& value);
  /// Uniform in [low, high].
  void fill_random(std::mt19937& random, double low = -2, double high = 2);
  /// Fails the test if a byte that belongs to no element was written since the construction.
  void expect_gaps_untouched() const;

 private:
  static constexpr std::size_t kGuardBytes = 64;
  static constexpr std::uint8_t kGuard = 0xA5;
  std::int64_t byte_offset(const Index& index) const;

  OperandSpec spec_;
  std::vector<std::uint8_t> memory_;
};

/// Runs with guarded scratch; fails the test if the kernel writes past it or into gaps.
void run_kernel(const Kernel& kernel, const std::vector<Strided*>& operands);
/// The same with operands that are not all Strided.
void run_kernel_on(const Kernel& kernel, const std::vector<void*>& operands);

/// Every element of `actual` is within absolute + relative * |expected|; NaN equals NaN.
void expect_close(const Strided& actual, const std::function<double(const Index&)>& expected,
                  double absolute, double relative = 0);

}  // namespace unfuse::cpu::testing
