// Pooling over spatial dimensions.
#include <vector>

#include "targets/cpu/kernels/pool.h"
#include "targets/cpu/lowering/checks.h"
#include "targets/cpu/lowering/families.h"

namespace unfuse::cpu {
namespace {

Sizes spatial_list(const Argument& argument, std::int64_t rank, const LoweringContext& context) {
  Sizes sizes = context.evaluate(argument.dims());
  if (sizes.size() == 1) sizes.assign(static_cast<std::size_t>(rank), sizes[0]);
  return sizes;
}

/// Emits a pool; a second result, if the node has one, takes the positions.
void emit_pool(const Node& node, LoweringContext& context, PoolSpec spec) {
  const View input = context.view(node.input(0));
  std::vector<View> outputs = {context.result(node.result())};
  spec.input = input.spec;
  spec.output = outputs[0].spec;
  if (node.results().size() == 2) {
    outputs.push_back(context.result(node.result(1)));
    spec.indices = outputs[1].spec;
  }
  spec.threads = context.threads();
  context.emit(select_pool(spec), {input}, outputs);
}

PoolSpec windowed(const Node& node, LoweringContext& context, PoolKind kind, std::int64_t rank) {
  PoolSpec spec;
  spec.kind = kind;
  spec.spatial_rank = rank;
  spec.kernel = spatial_list(node.argument("kernel_size"), rank, context);
  spec.stride = spatial_list(node.argument("stride"), rank, context);
  if (spec.stride.empty()) spec.stride = spec.kernel;
  spec.padding = spatial_list(node.argument("padding"), rank, context);
  return spec;
}

template <int kRank>
void lower_max_pool(const Node& node, LoweringContext& context) {
  PoolSpec spec = windowed(node, context, PoolKind::kMax, kRank);
  spec.dilation = spatial_list(node.argument("dilation"), kRank, context);
  emit_pool(node, context, std::move(spec));
}

template <int kRank>
void lower_average_pool(const Node& node, LoweringContext& context) {
  PoolSpec spec = windowed(node, context, PoolKind::kAverage, kRank);
  spec.count_include_pad = node.argument("count_include_pad").boolean();
  const int divisor = node.op().schema.index_of("divisor_override");
  if (divisor >= 0 && !node.argument(divisor).is_none()) {
    spec.divisor_override = node.argument(divisor).integer();
  }
  emit_pool(node, context, std::move(spec));
}

template <PoolKind kKind, int kRank>
void lower_adaptive_pool(const Node& node, LoweringContext& context) {
  PoolSpec spec;
  spec.kind = kKind;
  spec.spatial_rank = kRank;
  emit_pool(node, context, std::move(spec));
}

Refusal accept_pool(const Node& node) {
  if (computes_in_float32(node.input(0)->dtype())) return std::nullopt;
  return std::string(dtype_name(node.input(0)->dtype())) + " is not supported by this op";
}

constexpr PoolKind kAverage = PoolKind::kAdaptiveAverage;
constexpr PoolKind kMax = PoolKind::kAdaptiveMax;

constexpr LoweringRow kRows[] = {
    {"aten.max_pool1d.default", accept_pool, lower_max_pool<1>},
    {"aten.max_pool2d.default", accept_pool, lower_max_pool<2>},
    {"aten.max_pool3d.default", accept_pool, lower_max_pool<3>},
    {"aten.max_pool1d_with_indices.default", accept_pool, lower_max_pool<1>},
    {"aten.max_pool2d_with_indices.default", accept_pool, lower_max_pool<2>},
    {"aten.max_pool3d_with_indices.default", accept_pool, lower_max_pool<3>},
    {"aten.avg_pool1d.default", accept_pool, lower_average_pool<1>},
    {"aten.avg_pool2d.default", accept_pool, lower_average_pool<2>},
    {"aten.avg_pool3d.default", accept_pool, lower_average_pool<3>},
    {"aten.adaptive_avg_pool1d.default", accept_pool, lower_adaptive_pool<kAverage, 1>},
    {"aten.adaptive_avg_pool2d.default", accept_pool, lower_adaptive_pool<kAverage, 2>},
    {"aten._adaptive_avg_pool2d.default", accept_pool, lower_adaptive_pool<kAverage, 2>},
    {"aten.adaptive_avg_pool3d.default", accept_pool, lower_adaptive_pool<kAverage, 3>},
    {"aten._adaptive_avg_pool3d.default", accept_pool, lower_adaptive_pool<kAverage, 3>},
    {"aten.adaptive_max_pool1d.default", accept_pool, lower_adaptive_pool<kMax, 1>},
    {"aten.adaptive_max_pool2d.default", accept_pool, lower_adaptive_pool<kMax, 2>},
};

}  // namespace

std::span<const LoweringRow> pooling_lowerings() { return kRows; }

}  // namespace unfuse::cpu
