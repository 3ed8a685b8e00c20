// The plan that was used last.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "targets/cpu/executable.h"

namespace unfuse::cpu {

/// Most calls want the plan that the call before had: it is found here by comparing numbers in
/// place, where PlanCache needs a key, and symbols bound to build that. May be called from many
/// threads at once.
class LastPlan {
 public:
  /// Null unless everything that the inputs tell is as it was.
  std::shared_ptr<const Plan> find(std::span<const InputValue> inputs, int threads) const;
  void keep(std::span<const InputValue> inputs, int threads, std::shared_ptr<const Plan> plan);

 private:
  mutable std::mutex mutex_;
  /// threads, and for each input its dtype, rank, sizes and strides, or its value.
  std::vector<std::int64_t> numbers_;
  std::shared_ptr<const Plan> plan_;
};

}  // namespace unfuse::cpu
