#include "targets/cpu/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace unfuse::cpu::testing {
namespace {

TEST(ParallelFor, CoversTheRangeOnce) {
  for (const std::int64_t count : {0, 1, 5, 64, 1000}) {
    for (const std::int64_t grain : {0, 1, 7, 64, 5000}) {
      for (const int threads : {1, 2, 3, 8}) {
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
        std::atomic<bool> aligned = true;
        parallel_for(threads, count, grain, [&](std::int64_t begin, std::int64_t end) {
          const std::int64_t multiple = std::max<std::int64_t>(1, grain);
          if (begin % multiple != 0 || (end % multiple != 0 && end != count)) aligned = false;
          for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
        });
        EXPECT_TRUE(aligned);
        for (const auto& times : seen) EXPECT_EQ(times, 1);
      }
    }
  }
}

TEST(ParallelFor, ThreadIndicesAreDistinctAndSmall) {
  std::mutex mutex;
  std::multiset<int> indices;
  parallel_for(4, 4, 1, [&](std::int64_t, std::int64_t) {
    const std::lock_guard lock(mutex);
    indices.insert(thread_index());
  });
  for (const int index : indices) {
    EXPECT_LT(index, 4);
    EXPECT_EQ(indices.count(index), 1u);
  }
  EXPECT_EQ(thread_index(), 0);
}

TEST(ParallelFor, RunsInPlaceWithinAnother) {
  std::atomic<int> parts = 0;
  parallel_for(2, 2, 1, [&](std::int64_t begin, std::int64_t end) {
    const int outer = thread_index();
    for (std::int64_t i = begin; i < end; ++i) {
      parallel_for(2, 100, 1, [&](std::int64_t from, std::int64_t to) {
        EXPECT_EQ(from, 0);
        EXPECT_EQ(to, 100);
        EXPECT_EQ(thread_index(), 0);
        ++parts;
      });
    }
    EXPECT_EQ(thread_index(), outer);
  });
  EXPECT_EQ(parts, 2);
}

TEST(ParallelFor, PassesExceptionsOn) {
  for (const int threads : {1, 4}) {
    const auto run = [&] {
      parallel_for(threads, 100, 1, [](std::int64_t begin, std::int64_t end) {
        if (begin <= 50 && 50 < end) throw std::runtime_error("fifty");
      });
    };
    EXPECT_THROW(run(), std::runtime_error);
    EXPECT_EQ(thread_index(), 0);
  }
}

TEST(ParallelForDynamic, CoversTheRangeOnceInPartsOfAGrain) {
  for (const std::int64_t count : {0, 1, 5, 64, 1000}) {
    for (const std::int64_t grain : {0, 1, 7, 64, 5000}) {
      for (const int threads : {1, 2, 3, 8}) {
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
        std::atomic<bool> aligned = true;
        parallel_for_dynamic(threads, count, grain, [&](std::int64_t begin, std::int64_t end) {
          const std::int64_t multiple = std::max<std::int64_t>(1, grain);
          if (begin % multiple != 0 || (end % multiple != 0 && end != count)) aligned = false;
          EXPECT_LT(thread_index(), threads);
          for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
        });
        EXPECT_TRUE(aligned);
        for (const auto& times : seen) EXPECT_EQ(times, 1);
      }
    }
  }
}

TEST(ParallelForDynamic, GivesTheRestToWhoIsDone) {
  // The first part lasts until all others are done: by another thread, when the runtime gives one.
  constexpr std::int64_t kParts = 20;
  std::atomic<std::int64_t> done = 0;
  std::atomic<int> regions_threads = 0;
  parallel_for(2, 2, 1, [&](std::int64_t, std::int64_t) { ++regions_threads; });
  const bool has_another = regions_threads == 2;
  parallel_for_dynamic(2, kParts, 1, [&](std::int64_t begin, std::int64_t) {
    if (begin == 0 && has_another) {
      while (done.load() < kParts - 1) std::this_thread::yield();
    }
    ++done;
  });
  EXPECT_EQ(done, kParts);
}

TEST(ParallelForDynamic, RunsInPlaceWithinAnother) {
  std::atomic<int> calls = 0;
  parallel_for_dynamic(2, 2, 1, [&](std::int64_t, std::int64_t) {
    parallel_for_dynamic(2, 100, 1, [&](std::int64_t from, std::int64_t to) {
      EXPECT_EQ(from, 0);
      EXPECT_EQ(to, 100);
      ++calls;
    });
  });
  EXPECT_EQ(calls, 2);
}

TEST(ParallelForDynamic, PassesExceptionsOn) {
  for (const int threads : {1, 4}) {
    const auto run = [&] {
      parallel_for_dynamic(threads, 100, 1, [](std::int64_t begin, std::int64_t end) {
        if (begin <= 50 && 50 < end) throw std::runtime_error("fifty");
      });
    };
    EXPECT_THROW(run(), std::runtime_error);
    EXPECT_EQ(thread_index(), 0);
  }
}

TEST(UsableThreads, AForkedProcessGoesOnWithOneThread) {
  std::atomic<std::int64_t> done{0};
  const auto count = [&](std::int64_t begin, std::int64_t end) { done += end - begin; };
  parallel_for(4, 4, 1, count);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // ends it, should it wait for threads that are not there
    done = 0;
    parallel_for(4, 4, 1, count);
    parallel_for_dynamic(4, 4, 1, count);
    _exit(done == 8 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(usable_threads(4), 4);
}

TEST(DefaultThreads, FollowsTheEnvironment) { EXPECT_GE(default_threads(), 1); }

}  // namespace
}  // namespace unfuse::cpu::testing
