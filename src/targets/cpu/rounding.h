// Integer division that rounds up, and what it makes of a size.
#pragma once

#include <cstdint>

namespace unfuse::cpu {

/// The least number of parts of `by` that hold `value`; value >= 0, by >= 1.
constexpr std::int64_t divide_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

/// The least multiple that is no less than `value`.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return divide_up(value, multiple) * multiple;
}

}  // namespace unfuse::cpu
