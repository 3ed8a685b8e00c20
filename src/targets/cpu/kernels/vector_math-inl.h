// Elementary functions of float32 vectors, to about one unit in the last place.
//
// Included once for each instruction set. D is a Highway tag of float32, V its vector. NaN gives
// NaN; overflow gives infinity, underflow the subnormal or zero.

// Highway's idiom: the guard flips for every target.
#if defined(UNFUSE_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNFUSE_VECTOR_MATH_INL_H_
#undef UNFUSE_VECTOR_MATH_INL_H_
#else
#define UNFUSE_VECTOR_MATH_INL_H_
#endif

#include <cmath>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// c[0] + x * (c[1] + x * (...)), highest coefficient last.
template <class D, class V, std::size_t kCount>
HWY_INLINE V polynomial(D d, V x, const float (&coefficients)[kCount]) {
  V sum = hn::Set(d, coefficients[kCount - 1]);
  for (std::size_t i = kCount - 1; i-- > 0;) {
    sum = hn::MulAdd(sum, x, hn::Set(d, coefficients[i]));
  }
  return sum;
}

/// 2^n for integers n in [-126, 127].
template <class D, class VI>
HWY_INLINE hn::Vec<D> power_of_two(D d, VI n) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(di, 127))));
}

/// x = n ln 2 + r with |r| <= ln 2 / 2 (Cody and Waite: ln 2 in two parts, the first of 9 bits, so
/// that its product with n is exact without FMA too). n comes back as a float.
template <class D, class V>
HWY_INLINE V reduce_by_ln2(D d, V x, V& n) {
  n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504f)));
  const V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  return hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
}

/// exp(r) for |r| <= ln 2 / 2; relative error 3e-9 before rounding.
template <class D, class V>
HWY_INLINE V exp_reduced(D d, V r) {
  constexpr float kCoefficients[] = {1.0f,           1.0f,           4.99999934e-1f, 1.66665206e-1f,
                                     4.16683881e-2f, 8.36871709e-3f, 1.38145964e-3f};
  return polynomial(d, r, kCoefficients);
}

template <class D, class V>
HWY_INLINE V vector_exp(D d, V x) {
  const hn::RebindToSigned<D> di;
  V n;
  const V r = reduce_by_ln2(d, x, n);
  // In two steps: 2^n alone may overflow or be subnormal where the result is not.
  const auto whole = hn::ConvertTo(di, n);
  const auto half = hn::ShiftRight<1>(whole);
  V result = hn::Mul(exp_reduced(d, r), power_of_two(d, half));
  result = hn::Mul(result, power_of_two(d, hn::Sub(whole, half)));
  result = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -103.98f)), result);
  const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, 88.7228394f)), infinity, result);
}

/// exp(x) for x <= 0 (or NaN), zero where the result would be subnormal: for softmax.
template <class D, class V>
HWY_INLINE V vector_exp_nonpositive(D d, V x) {
  const hn::RebindToSigned<D> di;
  V n;
  const V r = reduce_by_ln2(d, x, n);
  const V result = hn::Mul(exp_reduced(d, r), power_of_two(d, hn::ConvertTo(di, n)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.3f)), result);
}

/// Added to a number, this rounds it to an integer, which is then in the low bits of the sum
/// (1.5 * 2^23), together with the exponent's bias (127): 2^integer is one shift away, and zero for
/// -127.
inline constexpr float kExponentShifter = 12582912.0f + 127.0f;

/// 2^n of n + kExponentShifter.
template <class D, class V>
HWY_INLINE V power_of_shifted(D d, V shifted) {
  const hn::RebindToUnsigned<D> du;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, shifted)));
}

/// exp(x) for sums with 1, in half the steps: zero where it would be subnormal, infinity from
/// 2^127.5 on.
template <class D, class V>
HWY_INLINE V vector_exp_beside_one(D d, V x) {
  const V bounded = hn::Min(hn::Set(d, 89.0f), hn::Max(hn::Set(d, -88.0f), x));
  const V shifter = hn::Set(d, kExponentShifter);
  const V shifted = hn::MulAdd(bounded, hn::Set(d, 1.44269504f), shifter);
  const V n = hn::Sub(shifted, shifter);
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), bounded);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  return hn::Mul(exp_reduced(d, r), power_of_shifted(d, shifted));
}

/// 2^x for x <= 100 (or NaN), zero where the result would be subnormal: for softmax. Relative error
/// 1.6e-8 before rounding.
template <class D, class V>
HWY_INLINE V vector_exp2_nonpositive(D d, V x) {
  constexpr float kCoefficients[] = {1.0f,           0.693147182f,   0.240226477f,   0.0555033237f,
                                     0.00961843692f, 0.00133988750f, 0.000153533620f};
  const V least = hn::Set(d, -127.0f);
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  x = hn::Max(least, x);  // the second operand where one is NaN
#else
  x = hn::IfThenElse(hn::Lt(x, least), least, x);
#endif
  const V shifter = hn::Set(d, kExponentShifter);
  const V shifted = hn::Add(x, shifter);
  const V r = hn::Sub(x, hn::Sub(shifted, shifter));
  return hn::Mul(polynomial(d, r, kCoefficients), power_of_shifted(d, shifted));
}

template <class D, class V>
HWY_INLINE V vector_exp2(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V n = hn::Round(x);
  const V r = hn::Mul(hn::Sub(x, n), hn::Set(d, 0.693147181f));
  const auto whole = hn::ConvertTo(di, n);
  const auto half = hn::ShiftRight<1>(whole);
  V result = hn::Mul(exp_reduced(d, r), power_of_two(d, half));
  result = hn::Mul(result, power_of_two(d, hn::Sub(whole, half)));
  result = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -150.0f)), result);
  const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  return hn::IfThenElse(hn::Ge(x, hn::Set(d, 128.0f)), infinity, result);
}

template <class D, class V>
HWY_INLINE V vector_expm1(D d, V x) {
  const hn::RebindToSigned<D> di;
  constexpr float kCoefficients[] = {4.99999934e-1f, 1.66665206e-1f, 4.16683881e-2f, 8.36871709e-3f,
                                     1.38145964e-3f};
  V n;
  const V r = reduce_by_ln2(d, x, n);
  const V p = hn::MulAdd(hn::Mul(r, r), polynomial(d, r, kCoefficients), r);  // expm1(r)
  // 2^n p + 2^n - 1, halved so that n = 128 does not overflow early.
  const V scale = power_of_two(d, hn::Sub(hn::ConvertTo(di, n), hn::Set(di, 1)));
  V result = hn::MulAdd(p, scale, hn::Sub(scale, hn::Set(d, 0.5f)));
  result = hn::Add(result, result);
  result = hn::IfThenElse(hn::Lt(x, hn::Set(d, -18.0f)), hn::Set(d, -1.0f), result);
  // Keeps the sign of zero.
  result = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, result);
  const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, 88.7228394f)), infinity, result);
}

/// log(x) = e ln 2 + log(1 + f) with 1 + f in [sqrt 1/2, sqrt 2): f and e for x > 0, finite.
template <class D, class V>
HWY_INLINE V split_for_log(D d, V x, V& exponent) {
  const hn::RebindToSigned<D> di;
  const auto is_subnormal = hn::Lt(x, hn::Set(d, 1.17549435e-38f));
  const V normal = hn::IfThenElse(is_subnormal, hn::Mul(x, hn::Set(d, 8388608.0f)), x);
  const auto bits = hn::BitCast(di, normal);
  const auto e = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3F3504F3)));
  const V mantissa = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(e)));
  exponent = hn::ConvertTo(d, e);
  exponent = hn::IfThenElse(is_subnormal, hn::Sub(exponent, hn::Set(d, 23.0f)), exponent);
  return hn::Sub(mantissa, hn::Set(d, 1.0f));
}

/// log(1 + f) - f for the f of split_for_log (Cephes' logf).
template <class D, class V>
HWY_INLINE V log_tail(D d, V f, V low) {
  constexpr float kCoefficients[] = {3.3333331174e-1f,  -2.4999993993e-1f, 2.0000714765e-1f,
                                     -1.6668057665e-1f, 1.4249322787e-1f,  -1.2420140846e-1f,
                                     1.1676998740e-1f,  -1.1514610310e-1f, 7.0376836292e-2f};
  const V square = hn::Mul(f, f);
  V tail = hn::MulAdd(hn::Mul(polynomial(d, f, kCoefficients), f), square, low);
  return hn::NegMulAdd(hn::Set(d, 0.5f), square, tail);
}

/// What log and its kin give for 0, infinity, negative numbers and NaN.
template <class D, class V>
HWY_INLINE V log_special_cases(D d, V x, V result) {
  const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  result = hn::IfThenElse(hn::Eq(x, infinity), infinity, result);
  result = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), result);
  const auto is_valid = hn::Ge(x, hn::Zero(d));
  return hn::IfThenElse(is_valid, result, hn::Set(d, std::numeric_limits<float>::quiet_NaN()));
}

template <class D, class V>
HWY_INLINE V vector_log(D d, V x) {
  V e;
  const V f = split_for_log(d, x, e);
  const V tail = log_tail(d, f, hn::Mul(e, hn::Set(d, -2.12194440e-4f)));
  const V result = hn::MulAdd(e, hn::Set(d, 0.693359375f), hn::Add(f, tail));
  return log_special_cases(d, x, result);
}

template <class D, class V>
HWY_INLINE V vector_log2(D d, V x) {
  V e;
  const V f = split_for_log(d, x, e);
  const V tail = log_tail(d, f, hn::Zero(d));
  // log2(e) = 1 + 0.442695...: the large part is added exactly.
  const V fraction = hn::Set(d, 0.442695041f);
  V result = hn::MulAdd(tail, fraction, hn::Mul(f, fraction));
  result = hn::Add(hn::Add(result, tail), f);
  return log_special_cases(d, x, hn::Add(result, e));
}

template <class D, class V>
HWY_INLINE V vector_log1p(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V u = hn::Add(x, one);
  const V lost = hn::Sub(x, hn::Sub(u, one));  // what rounding took from 1 + x
  V e;
  const V f = split_for_log(d, u, e);
  const V low = hn::MulAdd(e, hn::Set(d, -2.12194440e-4f), hn::Div(lost, u));
  V result = hn::MulAdd(e, hn::Set(d, 0.693359375f), hn::Add(f, log_tail(d, f, low)));
  result = log_special_cases(d, u, result);
  return hn::IfThenElse(hn::Eq(u, one), x, result);
}

template <class D, class V>
HWY_INLINE V vector_sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V result = hn::Div(one, hn::Add(one, vector_exp_beside_one(d, hn::Neg(x))));
  return hn::IfThenElse(hn::Eq(x, x), result, x);
}

template <class D, class V>
HWY_INLINE V vector_tanh(D d, V x) {
  constexpr float kCoefficients[] = {-3.33332839e-1f, 1.33314912e-1f, -5.37434953e-2f,
                                     2.06505790e-2f, -5.71703656e-3f};
  const V magnitude = hn::Abs(x);
  const V square = hn::Mul(x, x);
  const V small = hn::MulAdd(hn::Mul(x, square), polynomial(d, square, kCoefficients), x);
  // 1 - 2 / (exp(2 |x|) + 1)
  const V one = hn::Set(d, 1.0f);
  const V e = vector_exp(d, hn::Add(magnitude, magnitude));
  const V large = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(e, one)));
  // The sum in `small` loses the sign of -0.
  return hn::CopySign(hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.625f)), small, large), x);
}

/// log(erfc(t)) for t in (0.9277, 4), and far below log of the smallest float32 that counts beyond.
/// Coefficients by Norbert Juffa, as those of vector_erf.
template <class D, class V>
HWY_INLINE V log_erfc(D d, V t) {
  constexpr float kCoefficients[] = {-1.28717512e-1f, -6.34846687e-1f, -1.06777847e-1f,
                                     2.42546219e-2f,  -3.88396438e-3f, 3.83197126e-4f,
                                     -1.72853470e-5f};
  // Past 10 the polynomial no longer falls.
  const V bounded = hn::IfThenElse(hn::Gt(t, hn::Set(d, 10.0f)), hn::Set(d, 10.0f), t);
  return hn::MulAdd(polynomial(d, bounded, kCoefficients), bounded, hn::Neg(bounded));
}

/// erf(x) for |x| <= 0.9277.
template <class D, class V>
HWY_INLINE V erf_small(D d, V x) {
  constexpr float kCoefficients[] = {1.28379166e-1f,  -3.76125336e-1f, 1.12819925e-1f,
                                     -2.67681349e-2f, 4.99119423e-3f,  -5.96761703e-4f};
  return hn::MulAdd(polynomial(d, hn::Mul(x, x), kCoefficients), x, x);
}

inline constexpr float kErfBoundary = 0.927734375f;

template <class D, class V>
HWY_INLINE V vector_erf(D d, V x) {
  const V t = hn::Abs(x);
  const V large = hn::Sub(hn::Set(d, 1.0f), vector_exp_nonpositive(d, log_erfc(d, t)));
  const auto is_large = hn::Gt(t, hn::Set(d, kErfBoundary));
  return hn::IfThenElse(is_large, hn::CopySign(large, x), erf_small(d, x));
}

/// x (1 + erf(x / sqrt 2)) / 2, where 1 + erf of a negative number is taken as erfc: no
/// cancellation. Off by 4e-7 at most, and by 5e-8 for negative x; PyTorch's own is off by 1.2e-6.
template <class D, class V>
HWY_INLINE V vector_gelu(D d, V x) {
  // log2(erfc(t / sqrt 2) / 2), as good as 2^it times t needs it, and falling ever after.
  constexpr float kLogTail[] = {-1.0f,           -1.15110695f,   -4.59189028e-1f,
                                -5.25623448e-2f, 7.16727832e-3f, -2.21173075e-4f,
                                -1.49778862e-4f, 3.14582321e-5f, -2.15603177e-6f};
  constexpr float kPower[] = {1.0f,           0.693147203f,   0.240226479f,   0.0555033247f,
                              0.00961843736f, 0.00133988747f, 0.000153533622f};
  const V one = hn::Set(d, 1.0f);
  const V log_tail = hn::Max(hn::Set(d, -127.0f), polynomial(d, hn::Abs(x), kLogTail));
  const V shifter = hn::Set(d, kExponentShifter);
  const V shifted = hn::Add(log_tail, shifter);
  const V r = hn::Sub(log_tail, hn::Sub(shifted, shifter));
  const V tail = hn::Mul(polynomial(d, r, kPower), power_of_shifted(d, shifted));
  const V weight = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail));
  return hn::Mul(x, weight);
}

/// x (1 + tanh(u)) / 2 = x / (1 + exp(-2 u)) with u = sqrt(2/pi) (x + 0.044715 x^3).
template <class D, class V>
HWY_INLINE V vector_gelu_tanh(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V inner = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.044715f), one);
  const V exponent = hn::Mul(hn::Mul(x, hn::Set(d, -1.59576912f)), inner);
  return hn::Div(x, hn::Add(one, vector_exp_beside_one(d, exponent)));
}

template <class D, class V>
HWY_INLINE V vector_silu(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(x, hn::Add(one, vector_exp_beside_one(d, hn::Neg(x))));
}

/// x tanh(log(1 + e)) with e = exp(x): tanh(log(1 + e)) = e (e + 2) / (e (e + 2) + 2).
template <class D, class V>
HWY_INLINE V vector_mish(D d, V x) {
  const V two = hn::Set(d, 2.0f);
  const V e = vector_exp(d, x);
  const V product = hn::Mul(e, hn::Add(e, two));
  const V result = hn::Mul(x, hn::Div(product, hn::Add(product, two)));
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, 20.0f)), x, result);
}

/// sin(x), or cos(x) with kQuadrant 1, for |x| < 100000 and with FMA: x = n pi/2 + r with pi/2 in
/// three parts, polynomials on |r| <= pi/4 (Norbert Juffa's coefficients).
template <int kQuadrant, class D, class V>
HWY_INLINE V vector_sine_reduced(D d, V x) {
  const hn::RebindToSigned<D> di;
  constexpr float kSine[] = {-1.66666672e-1f, 8.33338592e-3f, -1.98559923e-4f, 2.86567956e-6f};
  constexpr float kCosine[] = {1.0f, -0.5f, 4.16666567e-2f, -1.38877297e-3f, 2.44677067e-5f};
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 0.636619747f)));
  V r = hn::NegMulAdd(n, hn::Set(d, 1.57079601e+00f), x);
  r = hn::NegMulAdd(n, hn::Set(d, 3.13916473e-07f), r);
  r = hn::NegMulAdd(n, hn::Set(d, 5.39030253e-15f), r);
  const V square = hn::Mul(r, r);
  const V sine = hn::MulAdd(polynomial(d, square, kSine), hn::Mul(r, square), r);
  const V cosine = polynomial(d, square, kCosine);
  const auto quadrant = hn::Add(hn::ConvertTo(di, n), hn::Set(di, kQuadrant));
  const auto is_odd = hn::RebindMask(d, hn::TestBit(quadrant, hn::Set(di, 1)));
  const V sign = hn::BitCast(d, hn::ShiftLeft<30>(hn::And(quadrant, hn::Set(di, 2))));
  return hn::Xor(hn::IfThenElse(is_odd, cosine, sine), sign);
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // UNFUSE_VECTOR_MATH_INL_H_
