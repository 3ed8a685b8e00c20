// Only what IEEE arithmetic fixes is folded: sums, products, quotients, square roots, comparisons,
// selections and moves. exp and its like differ in the last bit from one library to the next.
// Arithmetic in 16 and 32 bits is done in double and rounded to float32, then to the dtype: as
// torch computes it, and double is wide enough for rounding twice to be harmless.
#include "passes/fold/evaluate.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

namespace unfuse::passes {
namespace {

struct Call {
  const Node& node;
  const ConstantOf& constant_of;

  // Argument `index` as a constant, a number included; empty when it is not known.
  std::optional<Constant> operand(int index) const {
    const Argument& argument = node.argument(index);
    if (argument.is_value()) {
      const Constant* known = constant_of(argument.value());
      return known == nullptr ? std::nullopt : std::optional(*known);
    }
    if (!argument.is_constant_scalar()) return std::nullopt;
    Constant number;
    number.uniform = true;
    number.dtype = argument.holds<double>() ? DType::kFloat64
                   : argument.holds<bool>() ? DType::kBool
                                            : DType::kInt64;
    if (number.is_float()) {
      number.floats = {argument.number()};
    } else {
      number.ints = {argument.integer()};
    }
    return number;
  }

  Constant result() const {
    Constant made;
    made.dtype = node.result()->dtype();
    made.sizes = node.result()->sizes();
    return made;
  }
};

using Evaluated = std::optional<Constant>;
using Evaluate = Evaluated (*)(const Call& call);

std::optional<std::vector<std::int64_t>> small_sizes(const std::vector<Dim>& sizes) {
  auto known = constants(sizes);
  if (!known) return std::nullopt;
  std::int64_t count = 1;
  for (const std::int64_t size : *known) {
    count *= size;
    if (count > kMostFoldedElements) return std::nullopt;
  }
  return known;
}

std::int64_t count_of(const std::vector<std::int64_t>& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

// Row-major indices of a result, one after the other, and where they are in tensors of other
// strides.
class Walk {
 public:
  explicit Walk(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)), at_(sizes_.size()) {}
  const std::vector<std::int64_t>& at() const { return at_; }
  void step() {
    for (std::size_t d = sizes_.size(); d-- > 0;) {
      if (++at_[d] < sizes_[d]) return;
      at_[d] = 0;
    }
  }
  std::int64_t offset(const std::vector<std::int64_t>& strides) const {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < at_.size(); ++d) offset += at_[d] * strides[d];
    return offset;
  }

 private:
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> at_;
};

// Strides with which a tensor of `sizes` is read as one of `to`.
std::vector<std::int64_t> broadcast_strides(const std::vector<std::int64_t>& sizes,
                                            const std::vector<std::int64_t>& to) {
  const std::vector<std::int64_t> own = contiguous_strides(sizes);
  std::vector<std::int64_t> strides(to.size(), 0);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t place = to.size() - sizes.size() + i;
    if (sizes[i] != 1) strides[place] = own[i];
  }
  return strides;
}

bool append_from(Constant& made, const Constant& from, std::size_t index) {
  const std::size_t at = from.uniform ? 0 : index;
  return from.is_float() ? made.append(from.floats[at]) : made.append(from.ints[at]);
}

// --- Pointwise

// A number as the arithmetic of the result sees it.
double compute_value(const Constant& constant, std::size_t index, DType result) {
  const double value = constant.number(index);
  const bool in_float32 = is_floating_point(result) && result != DType::kFloat64;
  return in_float32 ? round_to(DType::kFloat32, value) : value;
}

double from_compute(DType result, double value) {
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

Evaluated arithmetic(const Call& call, bool reversed, Integers integers, Floats floats) {
  const auto left = call.operand(reversed ? 1 : 0);
  const auto right = call.operand(reversed ? 0 : 1);
  if (!left || !right || !alpha_is_one(call.node)) return std::nullopt;
  const DType dtype = call.node.result()->dtype();
  const auto compute = [&](Constant& made, const std::vector<std::size_t>& at) {
    if (is_floating_point(dtype)) {
      return made.append(from_compute(
          dtype, floats(compute_value(*left, at[0], dtype), compute_value(*right, at[1], dtype))));
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

Evaluated square_root(const Call& call) {
  return unary(call, [](Constant& made, const Constant& self, std::size_t at) {
    return self.is_float() && made.append(from_compute(made.dtype, std::sqrt(self.number(at))));
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

// --- Creation

Evaluated full(const Call& call) {
  const auto number = call.operand(1);
  if (!number) return std::nullopt;
  Constant made = call.result();
  made.uniform = true;
  if (!append_from(made, *number, 0)) return std::nullopt;
  return made;
}

Evaluated arange(const Call& call) {
  Constant made = call.result();
  const auto sizes = small_sizes(made.sizes);
  for (const int index : {0, 2}) {
    const Argument& argument = call.node.argument(index);
    if (!argument.is_constant_scalar() || argument.holds<double>()) return std::nullopt;
  }
  if (!sizes) return std::nullopt;
  const std::int64_t start = call.node.argument(0).integer();
  const std::int64_t step = call.node.argument(2).integer();
  for (std::int64_t i = 0; i < count_of(*sizes); ++i) {
    if (!made.append(start + i * step)) return std::nullopt;
  }
  return made;
}

// --- Moves: `source` gives the row-major index in the operand.

template <typename Source>
Evaluated moved(const Call& call, Source source) {
  const auto self = call.operand(0);
  if (!self) return std::nullopt;
  Constant made = call.result();
  if (self->uniform) {
    made.uniform = true;
    if (!append_from(made, *self, 0)) return std::nullopt;
    return made;
  }
  const auto sizes = small_sizes(made.sizes);
  const auto own = constants(self->sizes);
  if (!sizes || !own) return std::nullopt;
  const std::vector<std::int64_t> strides = contiguous_strides(*own);
  Walk walk(*sizes);
  for (std::int64_t i = 0; i < count_of(*sizes); ++i, walk.step()) {
    if (!append_from(made, *self, static_cast<std::size_t>(source(i, walk, *own, strides)))) {
      return std::nullopt;
    }
  }
  return made;
}

using Sizes = std::vector<std::int64_t>;

Evaluated reshape(const Call& call) {
  return moved(call, [](std::int64_t i, const Walk&, const Sizes&, const Sizes&) { return i; });
}

Evaluated expand(const Call& call) {
  const auto sizes = constants(call.node.result()->sizes());
  return moved(call, [&](std::int64_t, const Walk& walk, const Sizes& own, const Sizes&) {
    return walk.offset(broadcast_strides(own, *sizes));
  });
}

Evaluated permute(const Call& call) {
  const Sizes order = call.node.argument(1).integers();
  return moved(call, [&](std::int64_t, const Walk& walk, const Sizes&, const Sizes& strides) {
    Sizes permuted;
    for (const std::int64_t d : order) permuted.push_back(strides[static_cast<std::size_t>(d)]);
    return walk.offset(permuted);
  });
}

Evaluated slice(const Call& call) {
  const auto dimension = static_cast<std::size_t>(call.node.argument("dim").integer());
  const auto start = call.node.argument("start").dim().constant();
  const auto step = call.node.argument("step").dim().constant();
  if (!start || !step) return std::nullopt;
  return moved(call, [&](std::int64_t, const Walk& walk, const Sizes&, Sizes strides) {
    const std::int64_t first = *start * strides[dimension];
    strides[dimension] *= *step;
    return first + walk.offset(strides);
  });
}

Evaluated select(const Call& call) {
  const auto dimension = call.node.argument("dim").integer();
  const auto index = call.node.argument("index").dim().constant();
  if (!index) return std::nullopt;
  return moved(call, [&](std::int64_t, const Walk& walk, const Sizes&, Sizes strides) {
    const std::int64_t first = *index * strides[static_cast<std::size_t>(dimension)];
    strides.erase(strides.begin() + dimension);
    return first + walk.offset(strides);
  });
}

// tril and triu: what is on the other side of the diagonal becomes zero.
Evaluated triangle(const Call& call, bool lower) {
  const auto self = call.operand(0);
  const auto sizes = small_sizes(call.node.result()->sizes());
  const auto diagonal = call.node.argument("diagonal").dim().constant();
  if (!self || !sizes || !diagonal || sizes->size() < 2) return std::nullopt;
  Constant made = call.result();
  Walk walk(*sizes);
  for (std::int64_t i = 0; i < count_of(*sizes); ++i, walk.step()) {
    const std::int64_t row = walk.at()[sizes->size() - 2];
    const std::int64_t column = walk.at()[sizes->size() - 1];
    const bool kept = lower ? column - row <= *diagonal : column - row >= *diagonal;
    if (!kept) {
      made.append(std::int64_t{0});
    } else if (!append_from(made, *self, static_cast<std::size_t>(i))) {
      return std::nullopt;
    }
  }
  return made;
}

Evaluated tril(const Call& call) { return triangle(call, true); }
Evaluated triu(const Call& call) { return triangle(call, false); }

const std::unordered_map<std::string_view, Evaluate>& table() {
  static const std::unordered_map<std::string_view, Evaluate> kTable = {
      {"aten._to_copy.default", convert},
      {"aten.add.Scalar", add},
      {"aten.add.Tensor", add},
      {"aten.arange.start_step", arange},
      {"aten.div.Scalar", divide},
      {"aten.div.Tensor", divide},
      {"aten.eq.Scalar", eq},
      {"aten.eq.Tensor", eq},
      {"aten.expand.default", expand},
      {"aten.full.default", full},
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
      {"aten.permute.default", permute},
      {"aten.reshape.default", reshape},
      {"aten.rsub.Scalar", subtract_reversed},
      {"aten.select.int", select},
      {"aten.slice.Tensor", slice},
      {"aten.sqrt.default", square_root},
      {"aten.sub.Scalar", subtract},
      {"aten.sub.Tensor", subtract},
      {"aten.tril.default", tril},
      {"aten.triu.default", triu},
      {"aten.where.Scalar", where},
      {"aten.where.ScalarOther", where},
      {"aten.where.ScalarSelf", where},
      {"aten.where.self", where},
  };
  return kTable;
}

}  // namespace

std::optional<Constant> evaluate(const Node& node, const ConstantOf& constant_of) {
  const auto found = table().find(node.op().name);
  if (found == table().end() || node.results().size() != 1) return std::nullopt;
  const Value* result = node.result();
  if (!result->is_tensor() || !is_foldable(result->dtype())) return std::nullopt;
  if (result->tensor().device != "cpu") return std::nullopt;
  return found->second({node, constant_of});
}

}  // namespace unfuse::passes
