#include "targets/cpu/plan_cache.h"

#include <utility>

namespace unfuse::cpu {

PlanCache::PlanPtr PlanCache::find_or_build(const Key& key, const std::function<PlanPtr()>& build) {
  std::promise<PlanPtr> promise;
  std::shared_future<PlanPtr> waited_for;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = entries_.find(key);
    if (found != entries_.end()) {
      uses_.splice(uses_.begin(), uses_, found->second.use);
      waited_for = found->second.plan;
    } else {
      uses_.push_front(key);
      entries_.emplace(key, Entry{promise.get_future().share(), uses_.begin()});
      if (entries_.size() > capacity_) forget_oldest();
    }
  }
  if (waited_for.valid()) return waited_for.get();
  try {
    PlanPtr plan = build();
    promise.set_value(plan);
    return plan;
  } catch (...) {
    promise.set_exception(std::current_exception());
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = entries_.find(key);
    if (found != entries_.end()) {
      uses_.erase(found->second.use);
      entries_.erase(found);
    }
    throw;
  }
}

std::size_t PlanCache::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return entries_.size();
}

void PlanCache::forget_oldest() {
  entries_.erase(uses_.back());
  uses_.pop_back();
}

}  // namespace unfuse::cpu
