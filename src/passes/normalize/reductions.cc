// Reductions: dimensions listed, non-negative and ascending, all of them for a full reduction. Ops
// that give two results become two ops, of which the unused one is dead code.
#include <algorithm>
#include <cmath>
#include <optional>

#include "passes/normalize/rewrites.h"

namespace unfuse::passes {
namespace {

// Of None, [], an int, or a list; None and [] are all dimensions.
std::vector<std::int64_t> listed(const Argument& argument, std::int64_t rank) {
  std::vector<std::int64_t> dimensions;
  if (argument.holds<Dim>()) dimensions = {argument.integer()};
  if (argument.holds<Argument::Ints>()) dimensions = argument.integers();
  if (rank == 0 || dimensions.empty()) return all_dimensions(rank);
  for (std::int64_t& dimension : dimensions) dimension = wrap_dimension(dimension, rank);
  std::sort(dimensions.begin(), dimensions.end());
  return dimensions;
}

struct Over {
  std::vector<std::int64_t> dimensions;
  bool keepdim = false;
};

Over over(const Node& node) {
  const Schema& schema = node.op().schema;
  const int dim = schema.index_of("dim");
  const int keepdim = schema.index_of("keepdim");
  return {listed(dim < 0 ? Argument() : node.argument(dim), node.input(0)->rank()),
          keepdim >= 0 && node.argument(keepdim).boolean()};
}

// A dtype that the op would give anyway is not said.
Argument wanted_dtype(const Node& node) {
  const int index = node.op().schema.index_of("dtype");
  if (index < 0 || node.argument(index).is_none()) return {};
  const DType dtype = node.argument(index).dtype();
  return dtype == node.input(0)->dtype() ? Argument() : Argument(dtype);
}

Replacement reduce(RewriteContext& at, const Node& node, std::string_view op) {
  const Over reduced = over(node);
  return at.become(node, op, {node.input(0), Argument::ints(reduced.dimensions), reduced.keepdim});
}

Replacement reduce_to_dtype(RewriteContext& at, const Node& node, std::string_view op) {
  const Over reduced = over(node);
  return at.become(node, op, {node.input(0), Argument::ints(reduced.dimensions), reduced.keepdim},
                   {{"dtype", wanted_dtype(node)}});
}

Replacement sum(RewriteContext& at, const Node& node) {
  return reduce_to_dtype(at, node, "aten.sum.dim_IntList");
}
Replacement mean(RewriteContext& at, const Node& node) {
  return reduce_to_dtype(at, node, "aten.mean.dim");
}
Replacement amax(RewriteContext& at, const Node& node) {
  return reduce(at, node, "aten.amax.default");
}
Replacement amin(RewriteContext& at, const Node& node) {
  return reduce(at, node, "aten.amin.default");
}

// Other reductions read an empty list as all dimensions, any.dims and all.dims as none.
bool reduces_nothing(const Node& node) {
  const int dim = node.op().schema.index_of("dim");
  const auto* list = dim < 0 ? nullptr : node.argument(dim).get_if<Argument::Ints>();
  return list != nullptr && list->empty() && node.input(0)->rank() > 0;
}

Replacement truth(RewriteContext& at, const Node& node, std::string_view op) {
  if (!reduces_nothing(node)) return reduce(at, node, op);
  Value* nonzero = at.call("aten.ne.Scalar", {node.input(0), 0});
  return replace_by(convert(at.builder, nonzero, node.result()->dtype()));
}

Replacement any(RewriteContext& at, const Node& node) { return truth(at, node, "aten.any.dims"); }
Replacement all(RewriteContext& at, const Node& node) { return truth(at, node, "aten.all.dims"); }

Replacement arg_reduce(RewriteContext& at, const Node& node) {
  const Argument& dim = node.argument("dim");
  const Argument wrapped =
      dim.is_none() ? Argument() : Argument(wrap_dimension(dim.integer(), node.input(0)->rank()));
  return at.become(node, node.op().name, {node.input(0), wrapped, node.argument("keepdim")});
}

Replacement with_wrapped_dim(RewriteContext& at, const Node& node) {
  const std::int64_t dim = wrap_dimension(node.argument("dim").integer(), node.input(0)->rank());
  if (node.argument("dim") == Argument(dim)) return kKeep;
  std::vector<KeywordArgument> keywords;
  Arguments positional;
  const auto& declared = node.op().schema.arguments;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    Argument argument = declared[i].name == "dim" ? Argument(dim) : node.arguments()[i];
    if (declared[i].keyword_only) {
      keywords.push_back({declared[i].name, std::move(argument)});
    } else {
      positional.push_back(std::move(argument));
    }
  }
  return at.become(node, node.op().name, std::move(positional), keywords);
}

bool used(const Node& node, int result) { return node.result(result)->use_count() > 0; }

// max.dim and min.dim: values and where they are.
Replacement extreme_with_index(RewriteContext& at, const Node& node, std::string_view values_op,
                               std::string_view indices_op) {
  Value* self = node.input(0);
  const std::int64_t dim = wrap_dimension(node.argument("dim").integer(), self->rank());
  const Argument& keepdim = node.argument("keepdim");
  Value* values = nullptr;
  Value* indices = nullptr;
  if (used(node, 0)) values = at.call(values_op, {self, Argument::ints({dim}), keepdim});
  if (used(node, 1)) indices = at.call(indices_op, {self, dim, keepdim});
  return std::vector<Value*>{values, indices};
}

Replacement max_with_index(RewriteContext& at, const Node& node) {
  return extreme_with_index(at, node, "aten.amax.default", "aten.argmax.default");
}
Replacement min_with_index(RewriteContext& at, const Node& node) {
  return extreme_with_index(at, node, "aten.amin.default", "aten.argmin.default");
}

Replacement aminmax(RewriteContext& at, const Node& node) {
  Value* self = node.input(0);
  const Over reduced = over(node);
  const Argument dims = Argument::ints(reduced.dimensions);
  Value* low = nullptr;
  Value* high = nullptr;
  if (used(node, 0)) low = at.call("aten.amin.default", {self, dims, reduced.keepdim});
  if (used(node, 1)) high = at.call("aten.amax.default", {self, dims, reduced.keepdim});
  return std::vector<Value*>{low, high};
}

// How much less than the count a variance divides by.
Argument correction_of(const Node& node) {
  const Schema& schema = node.op().schema;
  if (const int unbiased = schema.index_of("unbiased"); unbiased >= 0) {
    return node.argument(unbiased).boolean() ? 1.0 : 0.0;
  }
  const Argument& correction = node.argument("correction");
  return correction.is_none() ? Argument(1.0) : Argument(correction.number());
}

Value* variance_of(RewriteContext& at, const Node& node) {
  const Over reduced = over(node);
  return at.call("aten.var.correction", {node.input(0), Argument::ints(reduced.dimensions)},
                 {{"correction", correction_of(node)}, {"keepdim", reduced.keepdim}});
}

Replacement variance(RewriteContext& at, const Node& node) {
  const Over reduced = over(node);
  return at.become(node, "aten.var.correction", {node.input(0), Argument::ints(reduced.dimensions)},
                   {{"correction", correction_of(node)}, {"keepdim", reduced.keepdim}});
}

Replacement deviation(RewriteContext& at, const Node& node) {
  return replace_by(at.call("aten.sqrt.default", {variance_of(at, node)}));
}

Replacement spread_and_mean(RewriteContext& at, const Node& node, bool deviation_wanted) {
  const Over reduced = over(node);
  Value* spread = nullptr;
  Value* average = nullptr;
  if (used(node, 0)) {
    spread = variance_of(at, node);
    if (deviation_wanted) spread = at.call("aten.sqrt.default", {spread});
  }
  if (used(node, 1)) {
    average = at.call("aten.mean.dim",
                      {node.input(0), Argument::ints(reduced.dimensions), reduced.keepdim});
  }
  return std::vector<Value*>{spread, average};
}

Replacement var_mean(RewriteContext& at, const Node& node) {
  return spread_and_mean(at, node, false);
}
Replacement std_mean(RewriteContext& at, const Node& node) {
  return spread_and_mean(at, node, true);
}

Replacement norm_of_order(RewriteContext& at, const Node& node, const Argument& order) {
  const bool known = order.is_none() || order.is_constant_scalar();
  if (!known || !is_floating_point(node.input(0)->dtype())) return kKeep;
  const double power = order.is_none() ? 2.0 : order.number();
  const bool possible = power == 2.0 || power == 1.0 || power == HUGE_VAL || power == -HUGE_VAL;
  if (!possible) return kKeep;
  const Over reduced = over(node);
  const Argument dims = Argument::ints(reduced.dimensions);
  Value* value = convert(at.builder, node.input(0), node.result()->dtype());
  if (power == 2.0) {
    Value* squares = at.call("aten.mul.Tensor", {value, value});
    Value* total = at.call("aten.sum.dim_IntList", {squares, dims, reduced.keepdim});
    return replace_by(at.call("aten.sqrt.default", {total}));
  }
  Value* sizes = at.call("aten.abs.default", {value});
  const std::string_view op = power == 1.0        ? "aten.sum.dim_IntList"
                              : power == HUGE_VAL ? "aten.amax.default"
                                                  : "aten.amin.default";
  return replace_by(at.call(op, {sizes, dims, reduced.keepdim}));
}

Replacement vector_norm(RewriteContext& at, const Node& node) {
  return norm_of_order(at, node, node.argument("ord"));
}
Replacement norm(RewriteContext& at, const Node& node) {
  return norm_of_order(at, node, node.argument("p"));
}

Replacement count_nonzero(RewriteContext& at, const Node& node) {
  Value* marked = at.call("aten.ne.Scalar", {node.input(0), 0});
  const Over reduced = over(node);
  return replace_by(
      at.call("aten.sum.dim_IntList", {marked, Argument::ints(reduced.dimensions), false}));
}

constexpr RewriteRow kRows[] = {
    {"aten.sum.default", sum},
    {"aten.sum.dim_IntList", sum},
    {"aten.mean.default", mean},
    {"aten.mean.dim", mean},
    {"aten.max.default", amax},
    {"aten.amax.default", amax},
    {"aten.max.dim", max_with_index},
    {"aten.min.default", amin},
    {"aten.amin.default", amin},
    {"aten.min.dim", min_with_index},
    {"aten.aminmax.default", aminmax},
    {"aten.any.default", any},
    {"aten.any.dim", any},
    {"aten.any.dims", any},
    {"aten.all.default", all},
    {"aten.all.dim", all},
    {"aten.all.dims", all},
    {"aten.argmax.default", arg_reduce},
    {"aten.argmin.default", arg_reduce},
    {"aten.prod.dim_int", with_wrapped_dim},
    {"aten.cumsum.default", with_wrapped_dim},
    {"aten.var.default", variance},
    {"aten.var.dim", variance},
    {"aten.var.correction", variance},
    {"aten.std.default", deviation},
    {"aten.std.dim", deviation},
    {"aten.std.correction", deviation},
    {"aten.var_mean.correction", var_mean},
    {"aten.var_mean.dim", var_mean},
    {"aten.std_mean.correction", std_mean},
    {"aten.linalg_vector_norm.default", vector_norm},
    {"aten.norm.Scalar", norm},
    {"aten.norm.ScalarOpt_dim", norm},
    {"aten.norm.ScalarOpt_dim_dtype", norm},
    {"aten.count_nonzero.default", count_nonzero},
    {"aten.count_nonzero.dim_IntList", count_nonzero},
};

}  // namespace

std::span<const RewriteRow> reduction_rewrites() { return kRows; }

}  // namespace unfuse::passes
