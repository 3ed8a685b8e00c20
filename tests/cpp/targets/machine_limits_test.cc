#include "targets/cpu/machine_limits.h"

#include <gtest/gtest.h>

namespace unfuse::cpu {
namespace {

// How much is the machine's affair: only that something was measured can be said.
TEST(MachineLimits, ArithmeticIsMeasured) {
  for (int threads : {0, 1, 2, 5}) EXPECT_GT(measure_arithmetic_limit(threads), 1e6);
}

TEST(MachineLimits, BandwidthIsMeasured) {
  // Fewer floats than threads have vectors, and more.
  for (std::size_t bytes : {64, 4096, 1 << 20}) {
    const BandwidthMeter meter(bytes);
    for (int threads : {0, 1, 2, 5}) EXPECT_GT(meter.measure(threads), 0);
  }
}

}  // namespace
}  // namespace unfuse::cpu
