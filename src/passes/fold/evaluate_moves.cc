// Tensors made of numbers, and tensors whose elements are those of another elsewhere.
#include <utility>

#include "passes/fold/call.h"

namespace unfuse::passes {
namespace {

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
  if (call.node.argument("start").is_none()) return std::nullopt;
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

constexpr EvaluateRow kRows[] = {
    {"aten.arange.start_step", arange}, {"aten.expand.default", expand},
    {"aten.full.default", full},        {"aten.permute.default", permute},
    {"aten.reshape.default", reshape},  {"aten.select.int", select},
    {"aten.slice.Tensor", slice},       {"aten.tril.default", tril},
    {"aten.triu.default", triu},
};

}  // namespace

std::span<const EvaluateRow> creation_and_move_evaluations() { return kRows; }

}  // namespace unfuse::passes
