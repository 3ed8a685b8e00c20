// Arithmetic in 16 and 32 bits is done in double and rounded to float32, then to the dtype: as
// torch computes it, and double is wide enough for rounding twice to be harmless.
#include <algorithm>
#include <cmath>

#include "passes/fold/call.h"

namespace unfuse::passes {
namespace {

// A number as the arithmetic of the result sees it.
double in_arithmetic_of(DType result, double value) {
  const bool in_float32 = is_floating_point(result) && result != DType::kFloat64;
  return in_float32 ? round_to(DType::kFloat32, value) : value;
}

// `compute` appends element number `i` of the result, given the index in each operand.
template <typename Compute>
Evaluated pointwise(const Call& call, const std::vector<Constant>& operands, Compute compute) {
  Constant made = call.result();
  const bool uniform = std::all_of(operands.begin(), operands.end(),
                                   [](const Constant& operand) { return operand.uniform; });
  std::vector<std::size_t> at(operands.size(), 0);
  if (uniform) {
    made.uniform = true;
    if (!compute(made, at)) return std::nullopt;
    return made;
  }
  const auto sizes = small_sizes(made.sizes);
  if (!sizes) return std::nullopt;
  std::vector<std::vector<std::int64_t>> strides;
  for (const Constant& operand : operands) {
    const auto own = constants(operand.sizes);
    if (!own) return std::nullopt;
    strides.push_back(operand.uniform ? std::vector<std::int64_t>(sizes->size(), 0)
                                      : broadcast_strides(*own, *sizes));
  }
  Walk walk(*sizes);
  for (std::int64_t i = 0; i < count_of(*sizes); ++i, walk.step()) {
    for (std::size_t k = 0; k < operands.size(); ++k) {
      at[k] = static_cast<std::size_t>(walk.offset(strides[k]));
    }
    if (!compute(made, at)) return std::nullopt;
  }
  return made;
}

using Integers = bool (*)(std::int64_t left, std::int64_t right, std::int64_t& result);
using Floats = double (*)(double left, double right);

bool add_ints(std::int64_t a, std::int64_t b, std::int64_t& r) {
  return !__builtin_add_overflow(a, b, &r);
}
bool subtract_ints(std::int64_t a, std::int64_t b, std::int64_t& r) {
  return !__builtin_sub_overflow(a, b, &r);
}
bool multiply_ints(std::int64_t a, std::int64_t b, std::int64_t& r) {
  return !__builtin_mul_overflow(a, b, &r);
}
double add_floats(double a, double b) { return a + b; }
double subtract_floats(double a, double b) { return a - b; }
double multiply_floats(double a, double b) { return a * b; }
double divide_floats(double a, double b) { return a / b; }

bool alpha_is_one(const Node& node) {
  const int alpha = node.op().schema.index_of("alpha");
  if (alpha < 0) return true;
  return node.argument(alpha).is_constant_scalar() && node.argument(alpha).number() == 1.0;
}

bool is_16_bit(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

// Torch rounds a number on one side of a 16-bit operation to 16 bits first, and not on the other.
bool is_exact_in(DType dtype, const Constant& constant) {
  for (std::size_t i = 0; i < constant.stored(); ++i) {
    const double value = constant.number(i);
    const bool exact = round_to(dtype, value) == value || value != value;
    if (!exact) return false;
  }
  return true;
}

Evaluated arithmetic(const Call& call, bool reversed, Integers integers, Floats floats) {
  const auto left = call.operand(reversed ? 1 : 0);
  const auto right = call.operand(reversed ? 0 : 1);
  if (!left || !right || !alpha_is_one(call.node)) return std::nullopt;
  const DType dtype = call.node.result()->dtype();
  const bool sure = !is_16_bit(dtype) || (is_exact_in(dtype, *left) && is_exact_in(dtype, *right));
  if (!sure) return std::nullopt;
  const auto compute = [&](Constant& made, const std::vector<std::size_t>& at) {
    if (is_floating_point(dtype)) {
      return made.append(
          in_arithmetic_of(dtype, floats(in_arithmetic_of(dtype, left->number(at[0])),
                                         in_arithmetic_of(dtype, right->number(at[1])))));
    }
    if (integers == nullptr || left->is_float() || right->is_float()) return false;
    std::int64_t result = 0;
    if (!integers(left->ints[left->uniform ? 0 : at[0]], right->ints[right->uniform ? 0 : at[1]],
                  result)) {
      return false;
    }
    // Only what does not wrap; bool arithmetic is logic, which normalize has made of it.
    return dtype != DType::kBool && made.append(result);
  };
  return pointwise(call, {*left, *right}, compute);
}

Evaluated add(const Call& call) { return arithmetic(call, false, add_ints, add_floats); }
Evaluated subtract(const Call& call) {
  return arithmetic(call, false, subtract_ints, subtract_floats);
}
Evaluated subtract_reversed(const Call& call) {
  return arithmetic(call, true, subtract_ints, subtract_floats);
}
Evaluated multiply(const Call& call) {
  return arithmetic(call, false, multiply_ints, multiply_floats);
}
Evaluated divide(const Call& call) { return arithmetic(call, false, nullptr, divide_floats); }

template <typename Test>
Evaluated test(const Call& call, Test holds) {
  const auto left = call.operand(0);
  const auto right = call.operand(1);
  if (!left || !right) return std::nullopt;
  // Beyond 2^53 doubles do not tell integers apart.
  for (const Constant* operand : {&*left, &*right}) {
    for (const std::int64_t value : operand->ints) {
      if (std::abs(value) > (std::int64_t{1} << 53)) return std::nullopt;
    }
  }
  // Two tensors are compared in their common dtype, a number is taken as the tensor's.
  const DType common = left->is_float() ? left->dtype : right->dtype;
  const auto number = [&](const Constant& constant, std::size_t index) {
    const double value = constant.number(index);
    return is_floating_point(common) && left->is_float() ? round_to(common, value) : value;
  };
  return pointwise(call, {*left, *right}, [&](Constant& made, const std::vector<std::size_t>& at) {
    return made.append(std::int64_t{holds(number(*left, at[0]), number(*right, at[1]))});
  });
}

Evaluated eq(const Call& c) {
  return test(c, [](double a, double b) { return a == b; });
}
Evaluated ne(const Call& c) {
  return test(c, [](double a, double b) { return a != b; });
}
Evaluated lt(const Call& c) {
  return test(c, [](double a, double b) { return a < b; });
}
Evaluated le(const Call& c) {
  return test(c, [](double a, double b) { return a <= b; });
}
Evaluated gt(const Call& c) {
  return test(c, [](double a, double b) { return a > b; });
}
Evaluated ge(const Call& c) {
  return test(c, [](double a, double b) { return a >= b; });
}

Evaluated logical_and(const Call& c) {
  return test(c, [](double a, double b) { return a != 0.0 && b != 0.0; });
}
Evaluated logical_or(const Call& c) {
  return test(c, [](double a, double b) { return a != 0.0 || b != 0.0; });
}
Evaluated logical_xor(const Call& c) {
  return test(c, [](double a, double b) { return (a != 0.0) != (b != 0.0); });
}

template <typename Compute>
Evaluated unary(const Call& call, Compute compute) {
  const auto self = call.operand(0);
  if (!self) return std::nullopt;
  return pointwise(call, {*self}, [&](Constant& made, const std::vector<std::size_t>& at) {
    return compute(made, *self, at[0]);
  });
}

Evaluated logical_not(const Call& call) {
  return unary(call, [](Constant& made, const Constant& self, std::size_t at) {
    return made.append(std::int64_t{self.number(at) == 0.0});
  });
}

Evaluated negate(const Call& call) {
  return unary(call, [](Constant& made, const Constant& self, std::size_t at) {
    if (self.is_float()) return made.append(-self.number(at));
    const std::int64_t value = self.ints[self.uniform ? 0 : at];
    return value != INT64_MIN && made.append(-value);
  });
}

Evaluated convert(const Call& call) {
  return unary(call, [](Constant& made, const Constant& self, std::size_t at) {
    return append_from(made, self, at);
  });
}

// Element by element from the second or the third of (condition, chosen, otherwise).
Evaluated choose(const Call& call, int condition, int chosen, int otherwise) {
  const auto mask = call.operand(condition);
  const auto left = call.operand(chosen);
  const auto right = call.operand(otherwise);
  if (!mask || !left || !right) return std::nullopt;
  return pointwise(call, {*mask, *left, *right},
                   [&](Constant& made, const std::vector<std::size_t>& at) {
                     const bool first = mask->number(at[0]) != 0.0;
                     return append_from(made, first ? *left : *right, first ? at[1] : at[2]);
                   });
}

Evaluated where(const Call& call) { return choose(call, 0, 1, 2); }
Evaluated masked_fill(const Call& call) { return choose(call, 1, 2, 0); }

constexpr EvaluateRow kRows[] = {
    {"aten._to_copy.default", convert},
    {"aten.add.Scalar", add},
    {"aten.add.Tensor", add},
    {"aten.div.Scalar", divide},
    {"aten.div.Tensor", divide},
    {"aten.eq.Scalar", eq},
    {"aten.eq.Tensor", eq},
    {"aten.ge.Scalar", ge},
    {"aten.ge.Tensor", ge},
    {"aten.gt.Scalar", gt},
    {"aten.gt.Tensor", gt},
    {"aten.le.Scalar", le},
    {"aten.le.Tensor", le},
    {"aten.logical_and.default", logical_and},
    {"aten.logical_not.default", logical_not},
    {"aten.logical_or.default", logical_or},
    {"aten.logical_xor.default", logical_xor},
    {"aten.lt.Scalar", lt},
    {"aten.lt.Tensor", lt},
    {"aten.masked_fill.Scalar", masked_fill},
    {"aten.mul.Scalar", multiply},
    {"aten.mul.Tensor", multiply},
    {"aten.ne.Scalar", ne},
    {"aten.ne.Tensor", ne},
    {"aten.neg.default", negate},
    {"aten.rsub.Scalar", subtract_reversed},
    {"aten.sub.Scalar", subtract},
    {"aten.sub.Tensor", subtract},
    {"aten.where.Scalar", where},
    {"aten.where.ScalarOther", where},
    {"aten.where.ScalarSelf", where},
    {"aten.where.self", where},
};

}  // namespace

std::span<const EvaluateRow> pointwise_evaluations() { return kRows; }

}  // namespace unfuse::passes
