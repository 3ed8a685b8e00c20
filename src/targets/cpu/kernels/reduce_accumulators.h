// What a reduction keeps while it goes through its elements, an op each.
//
// T is double or int64. add(x, i) takes element i in row-major order; merge(other) takes what
// another accumulator has seen, of elements that may lie before or after; value(n) is the result
// over n elements.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace unfuse::cpu {

template <typename T>
T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

template <typename T>
T wrapping_multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

template <typename T>
struct SumAccumulator {
  T sum = 0;
  void add(T x, std::int64_t) { sum = wrapping_add(sum, x); }
  void merge(const SumAccumulator& other) { sum = wrapping_add(sum, other.sum); }
  T value(std::int64_t) const { return sum; }
};

template <typename T>
struct MeanAccumulator : SumAccumulator<T> {
  T value(std::int64_t count) const {
    return count == 0 ? std::numeric_limits<T>::quiet_NaN() : this->sum / static_cast<T>(count);
  }
};

template <typename T>
struct SumSquaresAccumulator : SumAccumulator<T> {
  void add(T x, std::int64_t) { this->sum = wrapping_add(this->sum, wrapping_multiply(x, x)); }
};

template <typename T>
struct SumAbsoluteAccumulator : SumAccumulator<T> {
  void add(T x, std::int64_t) { this->sum = wrapping_add(this->sum, x < 0 ? -x : x); }
};

template <typename T>
struct ProdAccumulator {
  T product = 1;
  void add(T x, std::int64_t) { product = wrapping_multiply(product, x); }
  void merge(const ProdAccumulator& other) { product = wrapping_multiply(product, other.product); }
  T value(std::int64_t) const { return product; }
};

template <typename T>
struct AnyAccumulator {
  bool any = false;
  void add(T x, std::int64_t) { any = any || x != 0; }
  void merge(const AnyAccumulator& other) { any = any || other.any; }
  T value(std::int64_t) const { return any ? 1 : 0; }
};

template <typename T>
struct AllAccumulator {
  bool all = true;
  void add(T x, std::int64_t) { all = all && x != 0; }
  void merge(const AllAccumulator& other) { all = all && other.all; }
  T value(std::int64_t) const { return all ? 1 : 0; }
};

/// The largest (kSign 1) or smallest (-1), the first of equals; NaN beats every number.
template <typename T, int kSign>
struct ExtremeAccumulator {
  T best = 0;
  std::int64_t index = -1;  // none yet

  static bool is_nan(T x) {
    if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
    return false;
  }
  void add(T x, std::int64_t i) {
    const bool beats = kSign > 0 ? x > best : x < best;
    if (index < 0 || (!is_nan(best) && (beats || is_nan(x)))) {
      best = x;
      index = i;
    }
  }
  void merge(const ExtremeAccumulator& other) {
    if (other.index < 0) return;
    const bool equal = other.best == best || (is_nan(best) && is_nan(other.best));
    if (index >= 0 && equal) {
      index = std::min(index, other.index);
    } else {
      add(other.best, other.index);
    }
  }
  T value(std::int64_t) const { return best; }
};

template <typename T>
struct ArgmaxAccumulator : ExtremeAccumulator<T, 1> {
  T value(std::int64_t) const { return static_cast<T>(this->index); }
};

template <typename T>
struct ArgminAccumulator : ExtremeAccumulator<T, -1> {
  T value(std::int64_t) const { return static_cast<T>(this->index); }
};

/// Sums of differences from the first element, which keeps them small.
struct VarianceAccumulator {
  double shift = 0;
  double sum = 0;
  double squares = 0;
  std::int64_t seen = 0;

  void add(double x, std::int64_t) {
    if (seen++ == 0) shift = x;
    const double difference = x - shift;
    sum += difference;
    squares += difference * difference;
  }
  void merge(const VarianceAccumulator& other) {
    if (other.seen == 0) return;
    if (seen == 0) {
      *this = other;
      return;
    }
    // The other's sums, moved to this shift.
    const double distance = other.shift - shift;
    const auto count = static_cast<double>(other.seen);
    squares += other.squares + 2 * distance * other.sum + count * distance * distance;
    sum += other.sum + count * distance;
    seen += other.seen;
  }
  /// The sum of squared differences from the mean.
  double centered_squares() const {
    if (seen == 0) return 0;
    const double centered = squares - sum * sum / static_cast<double>(seen);
    return centered < 0 ? 0 : centered;  // rounding; NaN stays
  }
};

}  // namespace unfuse::cpu
