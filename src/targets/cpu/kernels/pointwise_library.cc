// Every floating-point op, element by element through the C library: all of float64, and what
// float32 has no vector code for.
#include <cmath>

#include "targets/cpu/kernels/pointwise_functions.h"
#include "targets/cpu/kernels/tile_loops.h"

namespace unfuse::cpu {
namespace {

template <typename T>
constexpr T kSqrtHalf = static_cast<T>(0.70710678118654752440);

/// As torch's div_floor_floating: exact where floor(a / b) is not.
template <typename T>
T divide_floor(T a, T b) {
  if (b == 0) return a / b;
  const T modulus = std::fmod(a, b);
  T quotient = (a - modulus) / b;
  if (modulus != 0 && (b < 0) != (modulus < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(T(0), a / b);
  const T floored = std::floor(quotient);
  return quotient - floored > T(0.5) ? floored + 1 : floored;
}

template <typename T>
T remainder(T a, T b) {
  const T modulus = std::fmod(a, b);
  return modulus != 0 && (b < 0) != (modulus < 0) ? modulus + b : modulus;
}

template <typename T>
T clamp(T a, T low, T high) {
  const T raised = a < low ? low : a;
  return raised > high ? high : raised;
}

/// x (1 + tanh(u)) / 2 = x / (1 + exp(-2 u)) with u = sqrt(2/pi) (x + 0.044715 x^3).
template <typename T>
T gelu_tanh(T x) {
  const T exponent = T(-1.5957691216057308) * x * (1 + T(0.044715) * x * x);
  return x / (1 + std::exp(exponent));
}

template <typename T, auto kFunction>
void tile1(const TileCall& call) {
  const auto* a = static_cast<const T*>(call.arguments[0]);
  auto* result = static_cast<T*>(call.result);
  const T p[3] = {static_cast<T>((*call.parameters)[0]), static_cast<T>((*call.parameters)[1]),
                  static_cast<T>((*call.parameters)[2])};
  for (std::int64_t i = 0; i < call.count; ++i) result[i] = kFunction(a[i], p);
}

template <typename T>
TileFunction library_function(PointwiseOp op) {
  switch (op) {
    // Arithmetic.
    case PointwiseOp::kAdd:
      return tile2<T, [](T a, T b) -> T { return a + b; }>;
    case PointwiseOp::kSubtract:
      return tile2<T, [](T a, T b) -> T { return a - b; }>;
    case PointwiseOp::kMultiply:
      return tile2<T, [](T a, T b) -> T { return a * b; }>;
    case PointwiseOp::kMultiplyAdd:
      return tile3<T, [](T a, T b, T c) -> T { return std::fma(a, b, c); }>;
    case PointwiseOp::kDivide:
      return tile2<T, [](T a, T b) -> T { return a / b; }>;
    case PointwiseOp::kDivideTrunc:
      return tile2<T, [](T a, T b) -> T { return std::trunc(a / b); }>;
    case PointwiseOp::kDivideFloor:
      return tile2<T, [](T a, T b) -> T { return divide_floor(a, b); }>;
    case PointwiseOp::kRemainder:
      return tile2<T, [](T a, T b) -> T { return remainder(a, b); }>;
    case PointwiseOp::kFmod:
      return tile2<T, [](T a, T b) -> T { return std::fmod(a, b); }>;
    case PointwiseOp::kPower:
      return tile2<T, [](T a, T b) -> T { return std::pow(a, b); }>;
    case PointwiseOp::kMaximum:
      return tile2<T, [](T a, T b) -> T { return std::isnan(a) || a >= b ? a : b; }>;
    case PointwiseOp::kMinimum:
      return tile2<T, [](T a, T b) -> T { return std::isnan(a) || a <= b ? a : b; }>;
    case PointwiseOp::kFmax:
      return tile2<T, [](T a, T b) -> T { return std::fmax(a, b); }>;
    case PointwiseOp::kFmin:
      return tile2<T, [](T a, T b) -> T { return std::fmin(a, b); }>;
    case PointwiseOp::kAtan2:
      return tile2<T, [](T a, T b) -> T { return std::atan2(a, b); }>;
    case PointwiseOp::kLerp:
      return tile3<T, [](T a, T b, T c) -> T {
        return std::abs(c) < T(0.5) ? a + c * (b - a) : b - (b - a) * (1 - c);
      }>;
    case PointwiseOp::kNegate:
      return tile1<T, [](T a, const T*) -> T { return -a; }>;
    case PointwiseOp::kAbsolute:
      return tile1<T, [](T a, const T*) -> T { return std::abs(a); }>;
    case PointwiseOp::kSign:
      return tile1<T, [](T a, const T*) -> T { return (T(a > 0) - T(a < 0)); }>;
    case PointwiseOp::kReciprocal:
      return tile1<T, [](T a, const T*) -> T { return 1 / a; }>;
    case PointwiseOp::kSquare:
      return tile1<T, [](T a, const T*) -> T { return a * a; }>;
    case PointwiseOp::kCube:
      return tile1<T, [](T a, const T*) -> T { return a * a * a; }>;
    case PointwiseOp::kToBool:
      return tile1<T, [](T a, const T*) -> T { return T(a != 0); }>;
    // Rounding.
    case PointwiseOp::kFloor:
      return tile1<T, [](T a, const T*) -> T { return std::floor(a); }>;
    case PointwiseOp::kCeil:
      return tile1<T, [](T a, const T*) -> T { return std::ceil(a); }>;
    case PointwiseOp::kRound:
      return tile1<T, [](T a, const T*) -> T { return std::nearbyint(a); }>;
    case PointwiseOp::kTrunc:
      return tile1<T, [](T a, const T*) -> T { return std::trunc(a); }>;
    // Powers and logarithms.
    case PointwiseOp::kSqrt:
      return tile1<T, [](T a, const T*) -> T { return std::sqrt(a); }>;
    case PointwiseOp::kRsqrt:
      return tile1<T, [](T a, const T*) -> T { return 1 / std::sqrt(a); }>;
    case PointwiseOp::kExp:
      return tile1<T, [](T a, const T*) -> T { return std::exp(a); }>;
    case PointwiseOp::kExp2:
      return tile1<T, [](T a, const T*) -> T { return std::exp2(a); }>;
    case PointwiseOp::kExpm1:
      return tile1<T, [](T a, const T*) -> T { return std::expm1(a); }>;
    case PointwiseOp::kLog:
      return tile1<T, [](T a, const T*) -> T { return std::log(a); }>;
    case PointwiseOp::kLog2:
      return tile1<T, [](T a, const T*) -> T { return std::log2(a); }>;
    case PointwiseOp::kLog10:
      // The C library's log10f is off by up to 2.1 units in the last place; torch's by 0.52.
      return tile1<T, [](T a, const T*) -> T {
        return static_cast<T>(std::log10(static_cast<double>(a)));
      }>;
    case PointwiseOp::kLog1p:
      return tile1<T, [](T a, const T*) -> T { return std::log1p(a); }>;
    // Trigonometric and related.
    case PointwiseOp::kSin:
      return tile1<T, [](T a, const T*) -> T { return std::sin(a); }>;
    case PointwiseOp::kCos:
      return tile1<T, [](T a, const T*) -> T { return std::cos(a); }>;
    case PointwiseOp::kTan:
      return tile1<T, [](T a, const T*) -> T { return std::tan(a); }>;
    case PointwiseOp::kAsin:
      return tile1<T, [](T a, const T*) -> T { return std::asin(a); }>;
    case PointwiseOp::kAcos:
      return tile1<T, [](T a, const T*) -> T { return std::acos(a); }>;
    case PointwiseOp::kAtan:
      return tile1<T, [](T a, const T*) -> T { return std::atan(a); }>;
    case PointwiseOp::kSinh:
      return tile1<T, [](T a, const T*) -> T { return std::sinh(a); }>;
    case PointwiseOp::kCosh:
      return tile1<T, [](T a, const T*) -> T { return std::cosh(a); }>;
    case PointwiseOp::kTanh:
      return tile1<T, [](T a, const T*) -> T { return std::tanh(a); }>;
    case PointwiseOp::kAsinh:
      return tile1<T, [](T a, const T*) -> T { return std::asinh(a); }>;
    case PointwiseOp::kAcosh:
      return tile1<T, [](T a, const T*) -> T { return std::acosh(a); }>;
    case PointwiseOp::kAtanh:
      return tile1<T, [](T a, const T*) -> T { return std::atanh(a); }>;
    case PointwiseOp::kErf:
      return tile1<T, [](T a, const T*) -> T { return std::erf(a); }>;
    case PointwiseOp::kErfc:
      return tile1<T, [](T a, const T*) -> T { return std::erfc(a); }>;
    // Activations.
    case PointwiseOp::kSigmoid:
      return tile1<T, [](T a, const T*) -> T { return 1 / (1 + std::exp(-a)); }>;
    case PointwiseOp::kLogSigmoid:
      return tile1<T, [](T a, const T*) -> T {
        return (a < 0 ? a : T(0)) - std::log1p(std::exp(-std::abs(a)));
      }>;
    case PointwiseOp::kRelu:
      return tile1<T, [](T a, const T*) -> T { return a < 0 ? T(0) : a; }>;
    case PointwiseOp::kGelu:
      return tile1<T, [](T a, const T*) -> T { return (a * std::erfc(-a * kSqrtHalf<T>) / 2); }>;
    case PointwiseOp::kGeluTanh:
      return tile1<T, [](T a, const T*) -> T { return gelu_tanh(a); }>;
    case PointwiseOp::kSilu:
      return tile1<T, [](T a, const T*) -> T { return a / (1 + std::exp(-a)); }>;
    case PointwiseOp::kElu:
      return tile1<T, [](T a, const T* p) -> T {
        return (a > 0 ? a * p[1] : std::expm1(a * p[2]) * (p[0] * p[1]));
      }>;
    case PointwiseOp::kLeakyRelu:
      return tile1<T, [](T a, const T* p) -> T { return (a > 0 ? a : a * p[0]); }>;
    case PointwiseOp::kHardtanh:
      return tile1<T, [](T a, const T* p) -> T { return clamp(a, p[0], p[1]); }>;
    case PointwiseOp::kHardswish:
      return tile1<T, [](T a, const T*) -> T { return a * clamp<T>(a + 3, 0, 6) / 6; }>;
    case PointwiseOp::kHardsigmoid:
      return tile1<T, [](T a, const T*) -> T { return clamp<T>(a + 3, 0, 6) / 6; }>;
    case PointwiseOp::kSoftplus:
      return tile1<T, [](T a, const T* p) -> T {
        return (a * p[0] > p[1] ? a : std::log1p(std::exp(a * p[0])) / p[0]);
      }>;
    case PointwiseOp::kMish:
      return tile1<T, [](T a, const T*) -> T {
        return (a > 30 ? a : a * std::tanh(std::log1p(std::exp(a))));
      }>;
    // Comparisons and tests.
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
      return tile1<T, [](T a, const T*) -> T { return T(std::isnan(a)); }>;
    case PointwiseOp::kIsInf:
      return tile1<T, [](T a, const T*) -> T { return T(std::isinf(a)); }>;
    case PointwiseOp::kIsFinite:
      return tile1<T, [](T a, const T*) -> T { return T(std::isfinite(a)); }>;
    // Logic and selection.
    case PointwiseOp::kLogicalAnd:
      return tile2<T, [](T a, T b) -> T { return T(a != 0 && b != 0); }>;
    case PointwiseOp::kLogicalOr:
      return tile2<T, [](T a, T b) -> T { return T(a != 0 || b != 0); }>;
    case PointwiseOp::kLogicalXor:
      return tile2<T, [](T a, T b) -> T { return T((a != 0) != (b != 0)); }>;
    case PointwiseOp::kLogicalNot:
      return tile1<T, [](T a, const T*) -> T { return T(a == 0); }>;
    case PointwiseOp::kWhere:
      return tile3<T, [](T a, T b, T c) -> T { return a != 0 ? b : c; }>;
    default:
      return nullptr;
  }
}

}  // namespace

TileFunction float32_library_function(PointwiseOp op) { return library_function<float>(op); }
TileFunction float64_function(PointwiseOp op) { return library_function<double>(op); }

TileFunction float32_function(PointwiseOp op) {
  if (const TileFunction function = float32_arithmetic_function(op)) return function;
  if (const TileFunction function = float32_transcendental_function(op)) return function;
  return float32_library_function(op);
}

}  // namespace unfuse::cpu
