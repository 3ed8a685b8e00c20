#include "targets/cpu/plan_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace unfuse::cpu {
namespace {

TEST(PlanCache, BuildsOnce) {
  PlanCache cache(4);
  int builds = 0;
  const auto build = [&] {
    ++builds;
    return std::make_shared<const Plan>();
  };
  const auto first = cache.find_or_build({1, 2}, build);
  EXPECT_EQ(cache.find_or_build({1, 2}, build), first);
  EXPECT_NE(cache.find_or_build({1, 3}, build), first);
  EXPECT_EQ(builds, 2);
}

TEST(PlanCache, ForgetsWhatWasUsedLongestAgo) {
  PlanCache cache(2);
  int builds = 0;
  const auto build = [&] {
    ++builds;
    return std::make_shared<const Plan>();
  };
  cache.find_or_build({1}, build);
  cache.find_or_build({2}, build);
  cache.find_or_build({1}, build);
  cache.find_or_build({3}, build);  // 2 goes
  EXPECT_EQ(cache.size(), 2u);
  cache.find_or_build({1}, build);
  EXPECT_EQ(builds, 3);
  cache.find_or_build({2}, build);
  EXPECT_EQ(builds, 4);
}

TEST(PlanCache, KeepsNothingOfAFailedBuild) {
  PlanCache cache(2);
  const auto fail = []() -> PlanCache::PlanPtr { throw std::runtime_error("no"); };
  EXPECT_THROW(cache.find_or_build({1}, fail), std::runtime_error);
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_NE(cache.find_or_build({1}, [] { return std::make_shared<const Plan>(); }), nullptr);
}

TEST(PlanCache, OneBuildAKeyUnderManyThreads) {
  PlanCache cache(8);
  std::atomic<int> builds{0};
  const auto build = [&] {
    ++builds;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return std::make_shared<const Plan>();
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] { cache.find_or_build({i % 2}, build); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(builds, 2);
}

}  // namespace
}  // namespace unfuse::cpu
