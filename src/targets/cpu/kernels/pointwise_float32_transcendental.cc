// Exponentials, logarithms, activations and friends on float32 tiles.
#include "targets/cpu/kernels/highway_targets.h"
#include "targets/cpu/kernels/pointwise_functions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "targets/cpu/kernels/pointwise_float32_transcendental.cc"
#include "hwy/foreach_target.h"
#include "targets/cpu/kernels/tile_loop-inl.h"
#include "targets/cpu/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

HWY_INLINE V log_sigmoid(D d, V a) {
  const V smaller = hn::IfThenElse(hn::Lt(a, hn::Zero(d)), a, hn::Zero(d));
  const V e = vector_exp(d, hn::Neg(hn::Abs(a)));
  return hn::Sub(smaller, vector_log1p(d, e));
}

HWY_INLINE V elu(D d, V a, const Parameters& p) {
  const V scale = hn::Set(d, p.value[1]);
  const V negative = vector_expm1(d, hn::Mul(a, hn::Set(d, p.value[2])));
  const V coefficient = hn::Set(d, p.value[0] * p.value[1]);
  return hn::IfThenElse(hn::Gt(a, hn::Zero(d)), hn::Mul(a, scale), hn::Mul(negative, coefficient));
}

HWY_INLINE V softplus(D d, V a, const Parameters& p) {
  const V beta = hn::Set(d, p.value[0]);
  const V scaled = hn::Mul(a, beta);
  const V soft = hn::Div(vector_log1p(d, vector_exp(d, scaled)), beta);
  return hn::IfThenElse(hn::Gt(scaled, hn::Set(d, p.value[1])), a, soft);
}

// Without FMA the reduction is not exact: such targets leave these to the C library.
#if HWY_NATIVE_FMA
template <int kQuadrant>
HWY_INLINE V sine(D d, V a) {
  if (HWY_LIKELY(hn::AllTrue(d, hn::Le(hn::Abs(a), hn::Set(d, 100000.0f))))) {
    return vector_sine_reduced<kQuadrant>(d, a);
  }
  // Large arguments need a longer pi.
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(a, d, buffer);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    buffer[i] = kQuadrant == 0 ? std::sin(buffer[i]) : std::cos(buffer[i]);
  }
  return hn::Load(d, buffer);
}
#endif

TileFunction transcendental(PointwiseOp op) {
  switch (op) {
    case PointwiseOp::kExp:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR { return vector_exp(d, a); }>;
    case PointwiseOp::kExp2:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR { return vector_exp2(d, a); }>;
    case PointwiseOp::kExpm1:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR { return vector_expm1(d, a); }>;
    case PointwiseOp::kLog:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR { return vector_log(d, a); }>;
    case PointwiseOp::kLog2:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR { return vector_log2(d, a); }>;
    case PointwiseOp::kLog1p:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR { return vector_log1p(d, a); }>;
    case PointwiseOp::kTanh:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR { return vector_tanh(d, a); }>;
    case PointwiseOp::kErf:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR { return vector_erf(d, a); }>;
    case PointwiseOp::kSigmoid:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR { return vector_sigmoid(d, a); }>;
    case PointwiseOp::kLogSigmoid:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR { return log_sigmoid(d, a); }>;
    case PointwiseOp::kGelu:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR { return vector_gelu(d, a); }>;
    case PointwiseOp::kGeluTanh:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR { return vector_gelu_tanh(d, a); }>;
    case PointwiseOp::kSilu:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR { return vector_silu(d, a); }>;
    case PointwiseOp::kMish:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR { return vector_mish(d, a); }>;
    case PointwiseOp::kElu:
      return tile1<[](D d, V a, const Parameters& p) HWY_ATTR { return elu(d, a, p); }>;
    case PointwiseOp::kSoftplus:
      return tile1<[](D d, V a, const Parameters& p) HWY_ATTR { return softplus(d, a, p); }>;
#if HWY_NATIVE_FMA
    case PointwiseOp::kSin:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR { return sine<0>(d, a); }>;
    case PointwiseOp::kCos:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR { return sine<1>(d, a); }>;
#endif
    default:
      return nullptr;
  }
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfuse::cpu {

HWY_EXPORT(transcendental);

TileFunction float32_transcendental_function(PointwiseOp op) {
  return HWY_DYNAMIC_DISPATCH(transcendental)(op);
}

}  // namespace unfuse::cpu
#endif  // HWY_ONCE
