#include "targets/cpu/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace unfuse::cpu {
namespace {

bool overlap(const ArenaInterval& a, const ArenaInterval& b) {
  const bool in_time = a.first <= b.last && b.first <= a.last;
  const bool in_space = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
  return in_time && in_space;
}

TEST(Arena, ReusesWhatIsDead) {
  // A chain: each buffer lives from its own step to the next.
  std::vector<ArenaInterval> intervals;
  for (int i = 0; i < 10; ++i) intervals.push_back({0, 640, i, i + 1});
  EXPECT_EQ(assign_arena(intervals), 2 * 640);
}

TEST(Arena, AlignsEveryBuffer) {
  std::vector<ArenaInterval> intervals = {{0, 1, 0, 1}, {0, 3, 0, 1}, {0, 65, 0, 1}};
  const std::int64_t bytes = assign_arena(intervals);
  for (const ArenaInterval& interval : intervals) EXPECT_EQ(interval.offset % kArenaAlignment, 0);
  EXPECT_EQ(bytes, 4 * kArenaAlignment);
}

TEST(Arena, TakesNothingForNothing) {
  std::vector<ArenaInterval> intervals = {{0, 0, 0, 3}};
  EXPECT_EQ(assign_arena(intervals), 0);
}

TEST(Arena, NeverOverlapsWhatLivesTogether) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<ArenaInterval> intervals(1 + random() % 40);
    std::int64_t sum = 0;
    for (ArenaInterval& interval : intervals) {
      interval.bytes = static_cast<std::int64_t>(random() % 1000);
      interval.first = static_cast<int>(random() % 30);
      interval.last = interval.first + static_cast<int>(random() % 10);
      sum += (interval.bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
    }
    const std::int64_t bytes = assign_arena(intervals);
    EXPECT_LE(bytes, sum);
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      EXPECT_LE(intervals[i].offset + intervals[i].bytes, bytes);
      for (std::size_t j = 0; j < i; ++j) {
        EXPECT_FALSE(overlap(intervals[i], intervals[j]));
      }
    }
  }
}

}  // namespace
}  // namespace unfuse::cpu
