// A plan: kernel calls for concrete sizes, strides and threads, with resolved memory.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/dim.h"
#include "targets/cpu/executable.h"
#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

/// Where memory that a step touches lies.
enum class Place : std::uint8_t {
  kInput,     ///< the run's user inputs; `index` counts kUser inputs
  kOutput,    ///< the run's outputs
  kPrepared,  ///< a tensor of the preparation
  kPacked,    ///< the address of a `Packed` of the preparation
  kArena,     ///< the run's workspace; the offset is all there is to say
};

struct Location {
  Place place = Place::kArena;
  std::int32_t index = 0;
  std::int64_t byte_offset = 0;
};

struct Step {
  KernelPtr kernel;
  std::vector<Location> operands;   ///< as the kernel's select function documents them
  std::int64_t scratch_offset = 0;  ///< in the arena; unused when the kernel takes no scratch
  const Node* node = nullptr;       ///< what the step is for; lives as long as the executable
  /// All nodes that the step computes, `node` the last, in program order; empty when it is alone.
  std::vector<const Node*> group;
  bool is_copy = false;    ///< elements are moved, converted at most
  std::int64_t bytes = 0;  ///< of elements read and written, each once; packed constants left out
};

/// Part of the arena that holds something from step `first` to step `last`.
struct ArenaInterval {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

class Plan {
 public:
  std::vector<Step> steps;
  std::vector<ConcreteType> outputs;
  std::int64_t arena_bytes = 0;
  std::size_t operand_count = 0;         ///< of the step that has most
  std::vector<ArenaInterval> intervals;  ///< for tests that poison what is dead
  SymbolValues symbols;                  ///< what the sizes were made of
  std::uint64_t id = 0;                  ///< no other plan of the process has it
};

}  // namespace unfuse::cpu
