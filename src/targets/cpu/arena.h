// Placing buffers in one block of memory so that those alive at the same time do not overlap.
#pragma once

#include <cstdint>
#include <span>

#include "targets/cpu/plan.h"

namespace unfuse::cpu {

inline constexpr std::int64_t kArenaAlignment = 64;

/// Fills in the offset of every interval (`bytes`, `first` and `last` are given) and returns the
/// bytes that the block needs. Largest first, each at the lowest offset that is free during its
/// life.
std::int64_t assign_arena(std::span<ArenaInterval> intervals);

}  // namespace unfuse::cpu
