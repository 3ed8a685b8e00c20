// Caps the instruction set that the kernels dispatch to: UNFUSE_TEST_TARGET=avx2 or baseline.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "targets/cpu/kernels/highway_targets.h"
// Not in one block with the line above: it must come first.
#include <hwy/highway.h>
#include <hwy/targets.h>

namespace {

class InstructionSet : public ::testing::Environment {
 public:
  void SetUp() override {
    const char* wanted = std::getenv("UNFUSE_TEST_TARGET");
    if (wanted != nullptr) cap(wanted);
    // Of what the machine has and what the kernels were built for, the best has the lowest bit.
    const std::int64_t usable = hwy::SupportedTargets() & HWY_TARGETS;
    std::cout << "kernels run on: " << hwy::TargetName(usable & -usable) << "\n";
  }

 private:
  // The best target has the lowest bit.
  static void cap(std::string_view wanted) {
    std::int64_t targets = hwy::SupportedTargets();
    const std::int64_t best = wanted == "avx2" ? HWY_AVX2 : HWY_STATIC_TARGET;
    if (wanted != "avx2" && wanted != "baseline") FAIL() << "unknown target " << wanted;
    targets &= ~(best - 1);
    if (targets == 0) GTEST_SKIP() << "this machine has no " << wanted;
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().DeInit();
  }
};

const auto* const instruction_set =
    ::testing::AddGlobalTestEnvironment(new InstructionSet);  // owned by GoogleTest

}  // namespace
