// A pointwise program as steps over registers that share few tiles of memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "targets/cpu/kernels/pointwise.h"
#include "targets/cpu/kernels/pointwise_functions.h"

namespace unfuse::cpu {

/// Fills a register from an operand. Coordinates are operands too: their "memory" is the offset.
struct LoadStep {
  int reg = 0;
  int operand = 0;  ///< inputs first, then coordinates
};

struct ComputeStep {
  TileFunction function = nullptr;
  std::array<int, 3> arguments = {-1, -1, -1};
  int result = 0;
  std::array<double, 3> parameters = {};
};

/// An instruction with the loads that it is the first to need.
struct ScheduledInstruction {
  std::vector<LoadStep> loads;
  ComputeStep compute;
};

struct ConstantFill {
  int reg = 0;
  double floating = 0;
  std::int64_t integer = 0;
};

struct PointwiseSchedule {
  std::vector<RegisterType> types;  ///< a register
  /// The tile that holds a register; registers whose lifetimes do not meet share one. Registers of
  /// constants keep theirs.
  std::vector<int> slots;
  int slot_count = 0;
  std::vector<ConstantFill> constants;
  std::vector<int> coordinate_dims;  ///< dims of the spec's sizes, one a coordinate operand
  std::vector<ScheduledInstruction> instructions;
  std::vector<LoadStep> final_loads;  ///< of inputs that go straight to an output
};

/// `keeps_slot[i]`: input i is loaded once and for all, like a constant. Throws Error (kInternal)
/// for programs that are not well formed.
PointwiseSchedule schedule_pointwise(const PointwiseProgram& program,
                                     const std::vector<bool>& keeps_slot);

}  // namespace unfuse::cpu
