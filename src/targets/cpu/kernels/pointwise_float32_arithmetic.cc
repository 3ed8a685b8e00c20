// Arithmetic, comparisons, selection and rounding on float32 tiles.
#include "targets/cpu/kernels/highway_targets.h"
#include "targets/cpu/kernels/pointwise_functions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "targets/cpu/kernels/pointwise_float32_arithmetic.cc"
#include "hwy/foreach_target.h"
#include "targets/cpu/kernels/tile_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// 1 where the mask is true, else 0.
template <class M>
HWY_INLINE V truth(D d, M mask) {
  return hn::IfThenElseZero(mask, hn::Set(d, 1.0f));
}

/// Not hn::Ne, which on some machines is false for NaN.
HWY_INLINE auto is_true(D d, V a) { return hn::Not(hn::Eq(a, hn::Zero(d))); }

/// Any NaN gives NaN: Highway's Min and Max differ between machines.
HWY_INLINE V with_nan_of(V a, V b, V result) {
  return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, result));
}

/// Of 0 and -0, which are equal, the first.
HWY_INLINE V maximum(V a, V b) { return with_nan_of(a, b, hn::IfThenElse(hn::Lt(a, b), b, a)); }
HWY_INLINE V minimum(V a, V b) { return with_nan_of(a, b, hn::IfThenElse(hn::Gt(a, b), b, a)); }

/// min(max(a, low), high) that keeps NaN.
HWY_INLINE V clamp(V a, V low, V high) {
  const V raised = hn::IfThenElse(hn::Lt(a, low), low, a);
  return hn::IfThenElse(hn::Gt(raised, high), high, raised);
}

HWY_INLINE V relu6(D d, V a) { return clamp(a, hn::Zero(d), hn::Set(d, 6.0f)); }

/// From the nearer end, so that weight 1 gives exactly b.
HWY_INLINE V lerp(D d, V a, V b, V weight) {
  const V distance = hn::Sub(b, a);
  const V from_a = hn::MulAdd(weight, distance, a);
  const V from_b = hn::NegMulAdd(distance, hn::Sub(hn::Set(d, 1.0f), weight), b);
  return hn::IfThenElse(hn::Lt(hn::Abs(weight), hn::Set(d, 0.5f)), from_a, from_b);
}

TileFunction arithmetic(PointwiseOp op) {
  switch (op) {
    case PointwiseOp::kAdd:
      return tile2<[](D, V a, V b) HWY_ATTR { return hn::Add(a, b); }>;
    case PointwiseOp::kSubtract:
      return tile2<[](D, V a, V b) HWY_ATTR { return hn::Sub(a, b); }>;
    case PointwiseOp::kMultiply:
      return tile2<[](D, V a, V b) HWY_ATTR { return hn::Mul(a, b); }>;
    case PointwiseOp::kMultiplyAdd:
      return tile3<[](D, V a, V b, V c) HWY_ATTR { return hn::MulAdd(a, b, c); }>;
    case PointwiseOp::kDivide:
      return tile2<[](D, V a, V b) HWY_ATTR { return hn::Div(a, b); }>;
    case PointwiseOp::kDivideTrunc:
      return tile2<[](D, V a, V b) HWY_ATTR { return hn::Trunc(hn::Div(a, b)); }>;
    case PointwiseOp::kMaximum:
      return tile2<[](D, V a, V b) HWY_ATTR { return maximum(a, b); }>;
    case PointwiseOp::kMinimum:
      return tile2<[](D, V a, V b) HWY_ATTR { return minimum(a, b); }>;
    case PointwiseOp::kFmax:
      return tile2<[](D, V a, V b) HWY_ATTR {
        return hn::IfThenElse(hn::Or(hn::IsNaN(b), hn::Gt(a, b)), a, b);
      }>;
    case PointwiseOp::kFmin:
      return tile2<[](D, V a, V b) HWY_ATTR {
        return hn::IfThenElse(hn::Or(hn::IsNaN(b), hn::Lt(a, b)), a, b);
      }>;
    case PointwiseOp::kLerp:
      return tile3<[](D d, V a, V b, V c) HWY_ATTR { return lerp(d, a, b, c); }>;
    case PointwiseOp::kNegate:
      return tile1<[](D, V a, const Parameters&) HWY_ATTR { return hn::Neg(a); }>;
    case PointwiseOp::kAbsolute:
      return tile1<[](D, V a, const Parameters&) HWY_ATTR { return hn::Abs(a); }>;
    case PointwiseOp::kSign:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR {
        return hn::Sub(truth(d, hn::Gt(a, hn::Zero(d))), truth(d, hn::Lt(a, hn::Zero(d))));
      }>;
    case PointwiseOp::kReciprocal:
      return tile1<[](D d, V a, const Parameters&)
                       HWY_ATTR { return hn::Div(hn::Set(d, 1.0f), a); }>;
    case PointwiseOp::kSquare:
      return tile1<[](D, V a, const Parameters&) HWY_ATTR { return hn::Mul(a, a); }>;
    case PointwiseOp::kCube:
      return tile1<[](D, V a, const Parameters&) HWY_ATTR { return hn::Mul(hn::Mul(a, a), a); }>;
    case PointwiseOp::kFloor:
      return tile1<[](D, V a, const Parameters&) HWY_ATTR { return hn::Floor(a); }>;
    case PointwiseOp::kCeil:
      return tile1<[](D, V a, const Parameters&) HWY_ATTR { return hn::Ceil(a); }>;
    case PointwiseOp::kRound:
      return tile1<[](D, V a, const Parameters&) HWY_ATTR { return hn::Round(a); }>;
    case PointwiseOp::kTrunc:
      return tile1<[](D, V a, const Parameters&) HWY_ATTR { return hn::Trunc(a); }>;
    case PointwiseOp::kSqrt:
      return tile1<[](D, V a, const Parameters&) HWY_ATTR { return hn::Sqrt(a); }>;
    case PointwiseOp::kRsqrt:
      return tile1<[](D d, V a, const Parameters&)
                       HWY_ATTR { return hn::Div(hn::Set(d, 1.0f), hn::Sqrt(a)); }>;
    case PointwiseOp::kToBool:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR { return truth(d, is_true(d, a)); }>;
    case PointwiseOp::kRelu:
      return tile1<[](D d, V a, const Parameters&)
                       HWY_ATTR { return hn::IfThenElse(hn::Lt(a, hn::Zero(d)), hn::Zero(d), a); }>;
    case PointwiseOp::kLeakyRelu:
      return tile1<[](D d, V a, const Parameters& p) HWY_ATTR {
        return hn::IfThenElse(hn::Gt(a, hn::Zero(d)), a, hn::Mul(a, hn::Set(d, p.value[0])));
      }>;
    case PointwiseOp::kHardtanh:
      return tile1<[](D d, V a, const Parameters& p) HWY_ATTR {
        return clamp(a, hn::Set(d, p.value[0]), hn::Set(d, p.value[1]));
      }>;
    case PointwiseOp::kHardswish:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR {
        return hn::Div(hn::Mul(a, relu6(d, hn::Add(a, hn::Set(d, 3.0f)))), hn::Set(d, 6.0f));
      }>;
    case PointwiseOp::kHardsigmoid:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR {
        return hn::Div(relu6(d, hn::Add(a, hn::Set(d, 3.0f))), hn::Set(d, 6.0f));
      }>;
    case PointwiseOp::kEqual:
      return tile2<[](D d, V a, V b) HWY_ATTR { return truth(d, hn::Eq(a, b)); }>;
    case PointwiseOp::kNotEqual:
      return tile2<[](D d, V a, V b) HWY_ATTR { return truth(d, hn::Not(hn::Eq(a, b))); }>;
    case PointwiseOp::kLess:
      return tile2<[](D d, V a, V b) HWY_ATTR { return truth(d, hn::Lt(a, b)); }>;
    case PointwiseOp::kLessEqual:
      return tile2<[](D d, V a, V b) HWY_ATTR { return truth(d, hn::Le(a, b)); }>;
    case PointwiseOp::kGreater:
      return tile2<[](D d, V a, V b) HWY_ATTR { return truth(d, hn::Gt(a, b)); }>;
    case PointwiseOp::kGreaterEqual:
      return tile2<[](D d, V a, V b) HWY_ATTR { return truth(d, hn::Ge(a, b)); }>;
    case PointwiseOp::kIsNan:
      return tile1<[](D d, V a, const Parameters&) HWY_ATTR { return truth(d, hn::IsNaN(a)); }>;
    case PointwiseOp::kIsInf:
      return tile1<[](D d, V a, const Parameters&)
                       HWY_ATTR { return truth(d, hn::Eq(hn::Abs(a), hn::Set(d, kInfinity))); }>;
    case PointwiseOp::kIsFinite:
      return tile1<[](D d, V a, const Parameters&)
                       HWY_ATTR { return truth(d, hn::Lt(hn::Abs(a), hn::Set(d, kInfinity))); }>;
    case PointwiseOp::kLogicalAnd:
      return tile2<[](D d, V a, V b)
                       HWY_ATTR { return truth(d, hn::And(is_true(d, a), is_true(d, b))); }>;
    case PointwiseOp::kLogicalOr:
      return tile2<[](D d, V a, V b)
                       HWY_ATTR { return truth(d, hn::Or(is_true(d, a), is_true(d, b))); }>;
    case PointwiseOp::kLogicalXor:
      return tile2<[](D d, V a, V b)
                       HWY_ATTR { return truth(d, hn::Xor(is_true(d, a), is_true(d, b))); }>;
    case PointwiseOp::kLogicalNot:
      return tile1<[](D d, V a, const Parameters&)
                       HWY_ATTR { return truth(d, hn::Eq(a, hn::Zero(d))); }>;
    case PointwiseOp::kWhere:
      return tile3<[](D d, V a, V b, V c) HWY_ATTR { return hn::IfThenElse(is_true(d, a), b, c); }>;
    default:
      return nullptr;
  }
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfuse::cpu {

HWY_EXPORT(arithmetic);

TileFunction float32_arithmetic_function(PointwiseOp op) {
  return HWY_DYNAMIC_DISPATCH(arithmetic)(op);
}

}  // namespace unfuse::cpu
#endif  // HWY_ONCE
