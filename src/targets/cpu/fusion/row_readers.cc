#include "targets/cpu/fusion/row_readers.h"

#include <algorithm>
#include <optional>

#include "targets/cpu/fusion/matching.h"
#include "targets/cpu/kernels/gemm.h"
#include "targets/cpu/lowering/pointwise_emitter.h"
#include "targets/cpu/lowering/view_algebra.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

/// Numbers that much divides, so that what was split in two or in eight is again.
SymbolValues sample_symbols(const SymbolRanges& ranges) {
  SymbolValues values;
  std::int64_t next = 24;
  for (const auto& [name, range] : ranges) {
    values[name] = std::clamp(next, range.minimum, range.maximum);
    next += 24;
  }
  return values;
}

/// The value as it would lie in the wider rows, and as it would by itself.
struct Layouts {
  View apart;
  View plain;
};

View contiguous_view(const Sizes& sizes) {
  View view;
  view.spec = OperandSpec::contiguous(DType::kFloat32, sizes);
  return view;
}

class Readers {
 public:
  explicit Readers(const Graph& graph) : symbols_(sample_symbols(graph.symbols)) {}

  bool take(const Value* value, std::int64_t row_stride) const {
    Layouts layouts{contiguous_view(evaluate(value->sizes())), {}};
    layouts.plain = layouts.apart;
    if (layouts.apart.rank() < 1) return false;
    std::int64_t stride = row_stride;
    for (std::int64_t dim = layouts.apart.rank() - 2; dim >= 0; --dim) {
      layouts.apart.spec.strides[static_cast<std::size_t>(dim)] = stride;
      stride *= layouts.apart.size(dim);
    }
    return all_take(value, layouts);
  }

 private:
  Sizes evaluate(const std::vector<Dim>& dims) const {
    Sizes sizes;
    for (const Dim& dim : dims) sizes.push_back(dim.evaluate(symbols_));
    return sizes;
  }
  std::int64_t evaluate(const Argument& argument) const {
    return argument.dim().evaluate(symbols_);
  }

  bool all_take(const Value* value, const Layouts& layouts) const {
    if (value->is_output()) return false;
    return std::all_of(value->uses().begin(), value->uses().end(),
                       [&](const Use& use) { return takes(use, layouts); });
  }

  bool takes(const Use& use, const Layouts& layouts) const {
    const Node& node = *use.node;
    if (node.is("aten.reshape.default")) return reshape_takes(node, layouts);
    if (const auto viewed = through_view(node, layouts)) return all_take(node.result(), *viewed);
    if (copies_anyway(node)) return true;
    const auto without_copy = [&](bool (*kernel_takes)(const OperandSpec& spec)) {
      return kernel_takes(layouts.apart.spec) || !kernel_takes(layouts.plain.spec);
    };
    if (is_any(node, {"unfuse.attention", "unfuse.packed_attention"}) && use.argument < 3) {
      return without_copy([](const OperandSpec& spec) { return spec.strides.back() == 1; });
    }
    if (node.is("aten.matmul.default")) {
      return without_copy(use.argument == 0 ? matmul_reads_left : matmul_reads_right);
    }
    if (is_linear(node) && use.argument == 0) {
      return without_copy(packed_linear_reads);
    }
    if (is_any(node, {"aten.layer_norm.default", "aten.rms_norm.default"}) && use.argument == 0) {
      const auto rank = static_cast<std::int64_t>(node.argument(1).dims().size());
      return trailing_dims_contiguous(layouts.apart.spec, rank);
    }
    return false;
  }

  /// These read any strides, and write anew.
  static bool copies_anyway(const Node& node) {
    return is_any(node, {"aten.cat.default", "aten._to_copy.default", "unfuse.pack_rows",
                         "unfuse.unpack_rows"}) ||
           find_pointwise(node.id()) != nullptr;
  }

  /// What is copied lies by itself from there on.
  bool reshape_takes(const Node& node, const Layouts& layouts) const {
    const Sizes sizes = evaluate(node.result()->sizes());
    const std::optional<View> apart = reshaped(layouts.apart, sizes);
    const std::optional<View> plain = reshaped(layouts.plain, sizes);
    if (!apart) return !plain;
    return all_take(node.result(), {*apart, plain ? *plain : contiguous_view(sizes)});
  }

  std::optional<Layouts> through_view(const Node& node, const Layouts& layouts) const {
    const auto both = [&](auto view) { return Layouts{view(layouts.apart), view(layouts.plain)}; };
    if (node.is("aten.permute.default")) {
      return both([&](const View& view) { return permuted(view, node.argument(1).integers()); });
    }
    if (node.is("aten.expand.default")) {
      const Sizes sizes = evaluate(node.result()->sizes());
      return both([&](const View& view) { return broadcast(view, sizes); });
    }
    if (node.is("aten.select.int")) {
      const std::int64_t dim = wrapped(node.argument("dim").integer(), layouts.plain.rank());
      return both([&](const View& view) { return selected(view, dim, 0); });
    }
    if (node.is("aten.slice.Tensor")) {
      const std::int64_t dim = wrapped(node.argument("dim").integer(), layouts.plain.rank());
      const std::int64_t length =
          node.result()->sizes()[static_cast<std::size_t>(dim)].evaluate(symbols_);
      const std::int64_t step = evaluate(node.argument("step"));
      return both([&](const View& view) { return sliced(view, dim, 0, length, step); });
    }
    return std::nullopt;
  }

  SymbolValues symbols_;
};

}  // namespace

bool rows_may_be_apart(const Graph& graph, const Value* value, std::int64_t row_stride) {
  try {
    return Readers(graph).take(value, row_stride);
  } catch (const Error&) {
    return false;  // the numbers tried do not fit the model
  }
}

}  // namespace unfuse::cpu
