// as_strided shows places of a storage, whatever the tensor it is called on shows: the one family
// of ops whose meaning lies in strides. Here, while recorded strides are still those of eager, the
// storage is found (the tensor that its aliases lead back to), its elements are put in one row in
// the order of memory, and the window becomes an index_select of rows of that: an op on elements,
// which holds however a target lays things out. as_strided_scatter becomes an index_put.
//
// The storage of a graph input is the caller's, and may hold more than the input shows: there the
// op stays, called on the input itself, and torch runs it. What as_strided_scatter gives has all of
// the storage of what it was called on: where that op stayed, so do windows on its result.
#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "passes/canonical.h"
#include "passes/functionalize/aliasing.h"
#include "passes/passes.h"

namespace unfuse::passes {
namespace {

/// How a tensor shows a storage: the tensor that has all of it, and the views from there.
struct Origination {
  Value* base = nullptr;
  std::vector<ViewStep> steps;
};

std::optional<Origination> origination(Value* value, const SymbolRanges& symbols) {
  Origination found{value, {}};
  while (Node* node = found.base->producer()) {
    int index = 0;
    while (node->result(index) != found.base) ++index;
    Aliasing aliasing = aliasing_of(*node, index, symbols);
    if (aliasing.shares == Answer::kNo) break;
    if (aliasing.shares == Answer::kUnknown) return std::nullopt;
    found.steps.insert(found.steps.begin(), std::move(aliasing.step));
    found.base = node->operands().front();
  }
  return found;
}

/// The dimensions, outermost in memory first, of a tensor without gaps or overlaps.
std::optional<std::vector<std::int64_t>> order_in_memory(const TensorType& type) {
  std::vector<std::int64_t> left = all_dimensions(type.rank());
  std::vector<std::int64_t> order;
  Dim expected = 1;
  while (!left.empty()) {
    // A dimension of size 1 may have any stride.
    const auto next = std::find_if(left.begin(), left.end(), [&](std::int64_t dimension) {
      const auto at = static_cast<std::size_t>(dimension);
      return type.sizes[at] == Dim(1) || type.strides[at] == expected;
    });
    if (next == left.end()) return std::nullopt;
    expected *= type.sizes[static_cast<std::size_t>(*next)];
    order.insert(order.begin(), *next);
    left.erase(next);
  }
  return order;
}

struct Window {
  std::vector<Dim> sizes, strides;
  Dim offset;
};

Window window_of(const Node& node, const Value* self) {
  const Argument& offset = node.argument("storage_offset");
  return {node.argument("size").dims(), node.argument("stride").dims(),
          offset.is_none() ? self->tensor().storage_offset : offset.dim()};
}

/// Elements that always come together: as many as the innermost dimensions of the window take in
/// one run, where all else is a multiple of them. At least 1; these dimensions go from `window`.
Dim take_run(Window& window, const Dim& storage) {
  Dim run = 1;
  std::size_t kept = window.sizes.size();
  while (kept > 0 && window.strides[kept - 1] == run) run *= window.sizes[--kept];
  const auto is_multiple = [&](const Dim& dim) { return dim.exact_quotient(run).has_value(); };
  bool whole = run != Dim(0) && is_multiple(storage) && is_multiple(window.offset);
  for (std::size_t i = 0; i < kept; ++i) whole = whole && is_multiple(window.strides[i]);
  if (!whole) return 1;
  window.sizes.resize(kept);
  window.strides.resize(kept);
  for (Dim& stride : window.strides) stride = *stride.exact_quotient(run);
  window.offset = *window.offset.exact_quotient(run);
  return run;
}

/// The places that the window shows, in order of its elements.
Value* places(Builder& builder, const Window& window) {
  const auto count = [&](const Dim& start, const Dim& end) {
    return call(builder, "aten.arange.start_step", {start, end, 1}, {{"dtype", DType::kInt64}});
  };
  Value* sum = count(window.offset, window.offset + Dim(1));
  for (std::size_t i = 0; i < window.sizes.size(); ++i) {
    std::vector<Dim> sizes(window.sizes.size(), Dim(1));
    sizes[i] = window.sizes[i];
    Value* steps = call(builder, "aten.mul.Scalar", {count(0, sizes[i]), window.strides[i]});
    sum = call(builder, "aten.add.Tensor", {reshape(builder, steps, sizes), sum});
  }
  return reshape(builder, sum, {product(window.sizes)});
}

class StorageWindows {
 public:
  explicit StorageWindows(Graph& graph) : graph_(graph) {}

  void run() {
    for (Node* node : graph_.nodes()) {
      if (!is_storage_window(node->op().name)) continue;
      rewrite(node, node->is("aten.as_strided_scatter.default"));
    }
  }

 private:
  void rewrite(Node* node, bool writes) {
    Value* self = node->input(0);
    if (!self->is_tensor() || view_step(*node, 0, graph_.symbols)) return;
    Builder builder(graph_, node);
    // as_strided_scatter writes to a clone then, a storage of its own.
    if (writes && overlaps(self->tensor())) self = call(builder, "aten.clone.default", {self});
    const auto found = origination(self, graph_.symbols);
    if (!found || found->base->dtype() != self->dtype()) return;
    if (may_hold_more(found->base)) {
      move_to_base(builder, node, *found, writes);
      return;
    }
    const auto order = order_in_memory(found->base->tensor());
    if (!order || found->base->tensor().storage_offset != Dim(0)) return;
    Value* made = writes ? written(builder, *node, self, *found, *order)
                         : read(builder, *node, found->base, *order);
    replace(node, made);
  }

  /// Whether a storage may have elements that the tensor which has it does not show.
  bool may_hold_more(Value* base) const {
    if (graph_.input_of(base) != nullptr) return true;
    return base->producer() != nullptr && base->producer()->is("aten.as_strided_scatter.default");
  }

  static Value* read(Builder& builder, const Node& node, Value* base,
                     const std::vector<std::int64_t>& order) {
    Window window = window_of(node, node.input(0));
    const std::vector<Dim> sizes = window.sizes;
    const Dim count = base->tensor().numel();
    const Dim run = take_run(window, count);
    Value* rows = reshape(builder, permute(builder, base, order), row_sizes(count, run));
    Value* chosen = call(builder, "aten.index_select.default", {rows, 0, places(builder, window)});
    return reshape(builder, chosen, sizes);
  }

  static Value* written(Builder& builder, const Node& node, const Value* self,
                        const Origination& found, const std::vector<std::int64_t>& order) {
    Window window = window_of(node, self);
    const Dim shown = product(window.sizes);
    const Dim count = found.base->tensor().numel();
    const Dim run = take_run(window, count);
    Value* permuted = permute(builder, found.base, order);
    Value* rows = reshape(builder, permuted, row_sizes(count, run));
    Value* source = reshape(builder, node.input(1), row_sizes(shown, run));
    Value* index = places(builder, window);
    Value* put =
        call(builder, "aten.index_put.default", {rows, std::vector<Value*>{index}, source, false});
    std::vector<std::int64_t> inverse(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    }
    Value* result = permute(builder, reshape(builder, put, permuted->sizes()), inverse);
    for (const ViewStep& step : found.steps) result = step.apply(builder, result);
    return result;
  }

  /// [count], or [count / run, run].
  static std::vector<Dim> row_sizes(const Dim& count, const Dim& run) {
    if (run == Dim(1)) return {count};
    return {*count.exact_quotient(run), run};
  }

  void move_to_base(Builder& builder, Node* node, const Origination& found, bool writes) {
    if (found.steps.empty()) return;
    const Value* self = node->input(0);
    const Argument& offset = node->argument("storage_offset");
    if (!writes && offset.is_none() && !is_placed(found)) {
      return replace(node, read_from_begin(builder, *node, found.base));
    }
    Arguments arguments = node->arguments();
    arguments[0] = found.base;
    if (offset.is_none()) arguments[writes ? 4 : 3] = self->tensor().storage_offset;
    const Type type = writes ? found.base->type() : node->result()->type();
    Value* made = create_like(*node, std::move(arguments), type, node);
    if (writes) {
      for (const ViewStep& step : found.steps) made = step.apply(builder, made);
    }
    replace(node, made);
  }

  /// Whether a view is at a place of the storage that does not depend on where the base begins.
  static bool is_placed(const Origination& found) {
    return std::any_of(found.steps.begin(), found.steps.end(), [](const ViewStep& step) {
      return step.kind == ViewStep::Kind::kOther && is_storage_window(step.node->op().name) &&
             !step.node->argument("storage_offset").is_none();
    });
  }

  /// Of a window that begins where its operand does. Where the base begins is known to whoever runs
  /// the graph alone: from there on the storage is read in one row.
  Value* read_from_begin(Builder& builder, const Node& node, Value* base) {
    Window window = window_of(node, node.input(0));
    window.offset = window.offset - base->tensor().storage_offset;
    Dim end = window.offset + Dim(1);
    for (std::size_t i = 0; i < window.sizes.size(); ++i) {
      end += (window.sizes[i] - Dim(1)) * window.strides[i];
    }
    const std::vector<Dim> sizes = window.sizes;
    if (product(sizes) == Dim(0)) end = 0;
    Value* row =
        create_like(node, {base, std::vector<Dim>{end}, std::vector<Dim>{1}, Argument()},
                    TensorType::contiguous(base->dtype(), {end}), builder.insertion_point());
    Value* chosen = call(builder, "aten.index_select.default", {row, 0, places(builder, window)});
    return reshape(builder, chosen, sizes);
  }

  Value* create_like(const Node& node, Arguments arguments, Type type, Node* before) {
    Node* made = graph_.create_node(node.op(), std::move(arguments), {std::move(type)}, before);
    made->set_origin(node.origin());
    return made->result();
  }

  void replace(Node* node, Value* made) {
    // What is laid out otherwise than the op's result is recorded so: a graph output keeps strides.
    if (made->producer() != nullptr && made->use_count() == 0)
      made->set_type(node->result()->type());
    graph_.replace_all_uses(node->result(), made);
    graph_.erase(node);
  }

  Graph& graph_;
};

}  // namespace

bool is_storage_window(std::string_view op) {
  return op == "aten.as_strided.default" || op == "aten.as_strided_copy.default" ||
         op == "aten.as_strided_scatter.default";
}

void resolve_storage_windows(Graph& graph) { StorageWindows(graph).run(); }

}  // namespace unfuse::passes
