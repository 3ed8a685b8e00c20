// Views of views. A reshape reads what the reshape before it read; two permutes are one, or none;
// dimensions of size 1 that stand between reshapes go.
#include "passes/views.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "passes/simplify/rewrites.h"

namespace unfuse::passes {
namespace {

// What the producer of `value` read, when that is a node of this op; null otherwise.
Value* under(const Value* value, std::string_view op) {
  return value->produced_by(op) ? value->producer()->input(0) : nullptr;
}

Replacement reshape_of_view(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  const std::vector<Dim>& sizes = node.result()->sizes();
  if (self->sizes() == sizes) return replace_by(self);
  Value* inner = under(self, "aten.reshape.default");
  if (inner == nullptr) return kKeep;
  return replace_by(reshape(at.builder, inner, sizes));
}

// Cuts `sizes` into runs whose products are `wholes`, one after another; nothing when they do not
// go up, as far as can be shown.
std::optional<std::vector<std::vector<Dim>>> split_into(const std::vector<Dim>& wholes,
                                                        const std::vector<Dim>& sizes) {
  std::vector<std::vector<Dim>> runs;
  std::size_t next = 0;
  for (const Dim& whole : wholes) {
    std::vector<Dim> run;
    while (next < sizes.size() && product(run) != whole) run.push_back(sizes[next++]);
    if (product(run) != whole) return std::nullopt;
    runs.push_back(std::move(run));
  }
  while (next < sizes.size() && sizes[next] == Dim(1) && !runs.empty()) {
    runs.back().push_back(sizes[next++]);
  }
  if (next != sizes.size()) return std::nullopt;
  return runs;
}

// Whether a dimension becomes several, and not only itself and ones.
bool is_split(const std::vector<Dim>& run) {
  return std::count_if(run.begin(), run.end(), [](const Dim& size) { return size != Dim(1); }) > 1;
}

// reshape(permute(reshape(x))) whose last reshape only splits dimensions: they are split right
// away. Heads that were merged with the batch to be moved, and parted from it again, so come as
// dimensions of their own out of memory that could not be seen merged without a copy.
Replacement split_after_permute(RewriteContext& at, const Node& node) {
  const Value* moved = node.input(0);
  if (!moved->produced_by("aten.permute.default")) return kKeep;
  const Value* before = moved->producer()->input(0);
  Value* inner = under(before, "aten.reshape.default");
  if (inner == nullptr) return kKeep;
  const auto runs = split_into(moved->sizes(), node.result()->sizes());
  if (!runs || std::none_of(runs->begin(), runs->end(), is_split)) return kKeep;
  // Dimension order[i] of `before` became dimension i, and is now runs[i].
  const std::vector<std::int64_t> order = moved->producer()->argument(1).integers();
  std::vector<std::size_t> run_of(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) run_of[static_cast<std::size_t>(order[i])] = i;
  std::vector<Dim> split;
  std::vector<std::int64_t> first(order.size());
  for (const std::size_t run : run_of) {
    first[run] = static_cast<std::int64_t>(split.size());
    split.insert(split.end(), (*runs)[run].begin(), (*runs)[run].end());
  }
  std::vector<std::int64_t> new_order;
  for (std::size_t run = 0; run < runs->size(); ++run) {
    for (std::size_t i = 0; i < (*runs)[run].size(); ++i) {
      new_order.push_back(first[run] + static_cast<std::int64_t>(i));
    }
  }
  return replace_by(permute(at.builder, reshape(at.builder, inner, split), new_order));
}

bool only_reshapes_read(const Value* value) {
  if (value->is_output()) return false;
  for (const Use& use : value->uses()) {
    if (!use.node->is("aten.reshape.default")) return false;
  }
  return true;
}

// permute(reshape(x)) with dimensions of size 1 that only reshapes read: these dimensions are left
// out, so that both reshapes may go. Elsewhere they stay, since a batch of one is still a batch to
// who reads it.
Replacement permute_with_ones(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  Value* inner = under(self, "aten.reshape.default");
  if (inner == nullptr || !only_reshapes_read(node.result())) return kKeep;
  std::vector<Dim> sizes;
  std::vector<std::int64_t> place(self->sizes().size(), -1);
  for (std::size_t i = 0; i < self->sizes().size(); ++i) {
    if (self->sizes()[i] == Dim(1)) continue;
    place[i] = static_cast<std::int64_t>(sizes.size());
    sizes.push_back(self->sizes()[i]);
  }
  if (sizes.size() == self->sizes().size()) return kKeep;
  std::vector<std::int64_t> order;
  for (const std::int64_t dimension : node.argument(1).integers()) {
    const std::int64_t kept = place[static_cast<std::size_t>(dimension)];
    if (kept >= 0) order.push_back(kept);
  }
  Value* dense = permute(at.builder, reshape(at.builder, inner, sizes), order);
  return replace_by(reshape(at.builder, dense, node.result()->sizes()));
}

Replacement permute_of_permute(RewriteContext& at, const Node& node) {
  const std::vector<std::int64_t> order = node.argument(1).integers();
  Value* self = node.input(0);
  if (is_identity_order(order)) return replace_by(self);
  Value* inner = under(self, "aten.permute.default");
  if (inner == nullptr) return kKeep;
  const std::vector<std::int64_t> first = self->producer()->argument(1).integers();
  std::vector<std::int64_t> both;
  both.reserve(order.size());
  for (const std::int64_t dimension : order) {
    both.push_back(first[static_cast<std::size_t>(dimension)]);
  }
  return replace_by(permute(at.builder, inner, both));
}

Replacement expand_of_expand(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  const std::vector<Dim>& sizes = node.result()->sizes();
  if (self->sizes() == sizes) return replace_by(self);
  Value* inner = under(self, "aten.expand.default");
  if (inner == nullptr) return kKeep;
  return replace_by(expand(at.builder, inner, sizes));
}

// The slice that made `value`, when its bounds are known and it skips nothing: what is sliced, and
// where along `dimension` it begins.
struct Window {
  Value* whole = nullptr;
  Dim offset;
};

std::optional<Window> window_under(const RewriteContext& at, const Value* value,
                                   std::int64_t dimension) {
  Value* whole = under(value, "aten.slice.Tensor");
  if (whole == nullptr) return std::nullopt;
  const auto first = view_step(*value->producer(), 0, at.symbols());
  if (!first || first->dimension != dimension || first->step != Dim(1)) return std::nullopt;
  return Window{whole, first->start};
}

// Bounds that are not known (a symbolic start that may be negative) stay as they are.
Replacement slice_of_slice(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  const auto step = view_step(node, 0, at.symbols());
  if (!step) return kKeep;
  const std::int64_t dimension = step->dimension;
  const bool whole =
      step->start == Dim(0) && step->step == Dim(1) && step->end == self->size(dimension);
  if (whole) return replace_by(self);
  const auto window = window_under(at, self, dimension);
  if (!window) return kKeep;
  return replace_by(slice(at.builder, window->whole, dimension, window->offset + step->start,
                          window->offset + step->end, step->step));
}

Replacement select_of_slice(RewriteContext& at, const Node& node) {
  const auto step = view_step(node, 0, at.symbols());
  if (!step) return kKeep;
  const auto window = window_under(at, node.input(0), step->dimension);
  if (!window) return kKeep;
  return replace_by(
      select(at.builder, window->whole, step->dimension, window->offset + step->start));
}

Replacement cat_of_cat(RewriteContext& at, const Node& node) {
  const Argument::Tensors& tensors = node.argument(0).tensors();
  if (tensors.size() == 1) return replace_by(tensors.front());
  Argument::Tensors flat;
  for (Value* value : tensors) {
    const bool same = value->produced_by("aten.cat.default") && value->use_count() == 1 &&
                      value->producer()->argument(1) == node.argument(1);
    if (!same) {
      flat.push_back(value);
      continue;
    }
    const Argument::Tensors& inner = value->producer()->argument(0).tensors();
    flat.insert(flat.end(), inner.begin(), inner.end());
  }
  return at.become(node, "aten.cat.default", {flat, node.argument(1)});
}

// A slice of a full, a reshape of a full: a full.
Replacement view_of_full(RewriteContext& at, const Node& node) {
  const Value* self = node.input(0);
  if (!self->produced_by("aten.full.default")) return kKeep;
  const Node& made = *self->producer();
  return at.become(node, "aten.full.default", {node.result()->sizes(), made.argument(1)},
                   {{"dtype", node.result()->dtype()}});
}

constexpr RewriteRow kRows[] = {
    {"aten.reshape.default", view_of_full},
    {"aten.permute.default", view_of_full},
    {"aten.slice.Tensor", view_of_full},
    {"aten.select.int", view_of_full},
    {"aten.expand.default", view_of_full},
    {"aten.reshape.default", reshape_of_view},
    {"aten.reshape.default", split_after_permute},
    {"aten.permute.default", permute_of_permute},
    {"aten.permute.default", permute_with_ones},
    {"aten.expand.default", expand_of_expand},
    {"aten.slice.Tensor", slice_of_slice},
    {"aten.select.int", select_of_slice},
    {"aten.cat.default", cat_of_cat},
};

}  // namespace

std::span<const RewriteRow> view_identities() { return kRows; }

}  // namespace unfuse::passes
