// Every integer op. Arithmetic wraps around, in unsigned numbers where signed ones would overflow.
#include <limits>

#include "targets/cpu/kernels/pointwise_functions.h"
#include "targets/cpu/kernels/tile_loops.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

using T = std::int64_t;

std::uint64_t bits(T value) { return static_cast<std::uint64_t>(value); }
T wrap(std::uint64_t value) { return static_cast<T>(value); }

void check_divisor(T divisor) {
  if (divisor != 0) return;
  throw Error(ErrorKind::kInvalidArgument, "integer division by zero");
}

T divide_trunc(T a, T b) {
  check_divisor(b);
  return b == -1 ? wrap(-bits(a)) : a / b;  // the smallest int64 / -1 wraps
}

T fmod(T a, T b) {
  check_divisor(b);
  return b == -1 ? 0 : a % b;
}

T divide_floor(T a, T b) {
  const T quotient = divide_trunc(a, b);
  const bool is_inexact = fmod(a, b) != 0;
  return is_inexact && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

T remainder(T a, T b) {
  const T modulus = fmod(a, b);
  return modulus != 0 && (modulus < 0) != (b < 0) ? modulus + b : modulus;
}

T power(T base, T exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  std::uint64_t result = 1;
  for (std::uint64_t factor = bits(base); exponent != 0; exponent >>= 1) {
    if (exponent & 1) result *= factor;
    factor *= factor;
  }
  return wrap(result);
}

template <typename T, auto kFunction>
void tile1(const TileCall& call) {
  const auto* a = static_cast<const T*>(call.arguments[0]);
  auto* result = static_cast<T*>(call.result);
  for (std::int64_t i = 0; i < call.count; ++i) result[i] = kFunction(a[i]);
}

}  // namespace

TileFunction int64_function(PointwiseOp op) {
  switch (op) {
    // Arithmetic, wrapping around.
    case PointwiseOp::kAdd:
      return tile2<T, [](T a, T b) -> T { return wrap(bits(a) + bits(b)); }>;
    case PointwiseOp::kSubtract:
      return tile2<T, [](T a, T b) -> T { return wrap(bits(a) - bits(b)); }>;
    case PointwiseOp::kMultiply:
      return tile2<T, [](T a, T b) -> T { return wrap(bits(a) * bits(b)); }>;
    case PointwiseOp::kMultiplyAdd:
      return tile3<T, [](T a, T b, T c) -> T { return wrap(bits(a) * bits(b) + bits(c)); }>;
    case PointwiseOp::kDivideTrunc:
      return tile2<T, [](T a, T b) -> T { return divide_trunc(a, b); }>;
    case PointwiseOp::kDivideFloor:
      return tile2<T, [](T a, T b) -> T { return divide_floor(a, b); }>;
    case PointwiseOp::kRemainder:
      return tile2<T, [](T a, T b) -> T { return remainder(a, b); }>;
    case PointwiseOp::kFmod:
      return tile2<T, [](T a, T b) -> T { return fmod(a, b); }>;
    case PointwiseOp::kPower:
      return tile2<T, [](T a, T b) -> T { return power(a, b); }>;
    case PointwiseOp::kMaximum:
      return tile2<T, [](T a, T b) -> T { return (a > b ? a : b); }>;
    case PointwiseOp::kMinimum:
      return tile2<T, [](T a, T b) -> T { return a < b ? a : b; }>;
    case PointwiseOp::kNegate:
      return tile1<T, [](T a) -> T { return wrap(-bits(a)); }>;
    case PointwiseOp::kAbsolute:
      return tile1<T, [](T a) -> T { return a < 0 ? wrap(-bits(a)) : a; }>;
    case PointwiseOp::kSign:
      return tile1<T, [](T a) -> T { return (T(a > 0) - T(a < 0)); }>;
    case PointwiseOp::kSquare:
      return tile1<T, [](T a) -> T { return wrap(bits(a) * bits(a)); }>;
    case PointwiseOp::kCube:
      return tile1<T, [](T a) -> T { return wrap(bits(a) * bits(a) * bits(a)); }>;
    case PointwiseOp::kRelu:
      return tile1<T, [](T a) -> T { return a < 0 ? 0 : a; }>;
    case PointwiseOp::kFloor:
    case PointwiseOp::kCeil:
    case PointwiseOp::kRound:
    case PointwiseOp::kTrunc:
      return tile1<T, [](T a) -> T { return a; }>;
    // Comparisons and tests.
    case PointwiseOp::kToBool:
      return tile1<T, [](T a) -> T { return T(a != 0); }>;
    case PointwiseOp::kEqual:
      return tile2<T, [](T a, T b) -> T { return T(a == b); }>;
    case PointwiseOp::kNotEqual:
      return tile2<T, [](T a, T b) -> T { return T(a != b); }>;
    case PointwiseOp::kLess:
      return tile2<T, [](T a, T b) -> T { return T(a < b); }>;
    case PointwiseOp::kLessEqual:
      return tile2<T, [](T a, T b) -> T { return T(a <= b); }>;
    case PointwiseOp::kGreater:
      return tile2<T, [](T a, T b) -> T { return (T(a > b)); }>;
    case PointwiseOp::kGreaterEqual:
      return tile2<T, [](T a, T b) -> T { return (T(a >= b)); }>;
    case PointwiseOp::kIsNan:
    case PointwiseOp::kIsInf:
      return tile1<T, [](T a) -> T { return 0 * a; }>;
    case PointwiseOp::kIsFinite:
      return tile1<T, [](T a) -> T { return 0 * a + 1; }>;
    // Logic and selection.
    case PointwiseOp::kLogicalAnd:
      return tile2<T, [](T a, T b) -> T { return T(a != 0 && b != 0); }>;
    case PointwiseOp::kLogicalOr:
      return tile2<T, [](T a, T b) -> T { return T(a != 0 || b != 0); }>;
    case PointwiseOp::kLogicalXor:
      return tile2<T, [](T a, T b) -> T { return T((a != 0) != (b != 0)); }>;
    case PointwiseOp::kLogicalNot:
      return tile1<T, [](T a) -> T { return T(a == 0); }>;
    case PointwiseOp::kBitwiseAnd:
      return tile2<T, [](T a, T b) -> T { return a & b; }>;
    case PointwiseOp::kBitwiseOr:
      return tile2<T, [](T a, T b) -> T { return a | b; }>;
    case PointwiseOp::kBitwiseXor:
      return tile2<T, [](T a, T b) -> T { return a ^ b; }>;
    case PointwiseOp::kBitwiseNot:
      return tile1<T, [](T a) -> T { return ~a; }>;
    case PointwiseOp::kShiftLeft:
      return tile2<T, [](T a, T b) -> T { return (b < 0 || b > 63 ? 0 : wrap(bits(a) << b)); }>;
    case PointwiseOp::kShiftRight:
      return tile2<T, [](T a, T b) -> T { return (a >> (b < 0 || b > 63 ? 63 : b)); }>;
    case PointwiseOp::kWhere:
      return tile3<T, [](T a, T b, T c) -> T { return a != 0 ? b : c; }>;
    default:
      return nullptr;
  }
}

}  // namespace unfuse::cpu
