// Plans by key: bounded, one build a key.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "targets/cpu/plan.h"

namespace unfuse::cpu {

/// Keeps the plans that were used last. May be called from many threads at once; while one thread
/// builds a plan, others that ask for the same key wait for it, and those with other keys do not.
class PlanCache {
 public:
  /// Symbol values, input strides, threads.
  using Key = std::vector<std::int64_t>;
  using PlanPtr = std::shared_ptr<const Plan>;

  explicit PlanCache(std::size_t capacity) : capacity_(capacity) {}

  /// What `build` throws is thrown to everyone who waits, and nothing is kept.
  PlanPtr find_or_build(const Key& key, const std::function<PlanPtr()>& build);

  std::size_t size() const;

 private:
  struct Entry {
    std::shared_future<PlanPtr> plan;
    std::list<Key>::iterator use;
  };
  void forget_oldest();

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
  std::list<Key> uses_;  ///< the latest first
};

}  // namespace unfuse::cpu
