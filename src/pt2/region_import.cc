#include "pt2/region_import.h"

namespace unfuse::pt2 {
namespace {

// Where a higher-order op has its graph, and the flag that must be false, if any.
struct RegionCall {
  const char* target;
  std::size_t graph;
  std::optional<std::size_t> off_flag;
};

constexpr RegionCall kCalls[] = {
    // (enable_grad, graph, operands...)
    {"torch.ops.higher_order.wrap_with_set_grad_enabled", 1, std::nullopt},
    // (device_type, dtype, enabled, cache_enabled, graph, operands...)
    {"torch.ops.higher_order.wrap_with_autocast", 4, 2},
};

bool is_false(const Json& argument) {
  const auto flag = argument.find("as_bool");
  return flag && !flag->boolean();
}

}  // namespace

std::optional<Region> transparent_region(const std::string& target, const Json& inputs) {
  for (const RegionCall& call : kCalls) {
    if (target != call.target || inputs.size() <= call.graph) continue;
    if (call.off_flag && !is_false(inputs.at(*call.off_flag).at("arg"))) return std::nullopt;
    const auto graph = inputs.at(call.graph).at("arg").find("as_graph");
    if (!graph) return std::nullopt;
    return Region{graph->at("graph"), call.graph + 1};
  }
  return std::nullopt;
}

}  // namespace unfuse::pt2
