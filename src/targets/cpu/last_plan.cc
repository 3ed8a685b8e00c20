#include "targets/cpu/last_plan.h"

#include <utility>

namespace unfuse::cpu {
namespace {

/// Calls visit(number) on all that tells inputs apart, as long as it returns true.
template <typename Visit>
bool visit_numbers(std::span<const InputValue> inputs, int threads, const Visit& visit) {
  constexpr std::int64_t kInt = -1;  // no dtype
  if (!visit(threads)) return false;
  for (const InputValue& input : inputs) {
    if (!input.is_tensor()) {
      if (!visit(kInt) || !visit(input.value())) return false;
      continue;
    }
    if (!visit(static_cast<std::int64_t>(input.dtype()))) return false;
    if (!visit(static_cast<std::int64_t>(input.sizes().size()))) return false;
    for (const std::int64_t size : input.sizes()) {
      if (!visit(size)) return false;
    }
    for (const std::int64_t stride : input.strides()) {
      if (!visit(stride)) return false;
    }
  }
  return true;
}

}  // namespace

std::shared_ptr<const Plan> LastPlan::find(std::span<const InputValue> inputs, int threads) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::size_t next = 0;
  const bool same = visit_numbers(inputs, threads, [&](std::int64_t number) {
    return next < numbers_.size() && numbers_[next++] == number;
  });
  return same && next == numbers_.size() ? plan_ : nullptr;
}

void LastPlan::keep(std::span<const InputValue> inputs, int threads,
                    std::shared_ptr<const Plan> plan) {
  std::vector<std::int64_t> numbers;
  visit_numbers(inputs, threads, [&](std::int64_t number) {
    numbers.push_back(number);
    return true;
  });
  const std::lock_guard<std::mutex> lock(mutex_);
  numbers_ = std::move(numbers);
  plan_ = std::move(plan);
}

}  // namespace unfuse::cpu
