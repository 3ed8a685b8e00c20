#include "targets/cpu/planner.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "ir/type_check.h"
#include "targets/cpu/arena.h"
#include "targets/cpu/lowering/context.h"
#include "targets/cpu/lowering/pointwise_group.h"
#include "targets/cpu/lowering/table.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

void bind_sources(const PlanRequest& request, LoweringContext& context) {
  for (const PlanSource& source : request.sources) {
    context.bind(source.value, context.add_buffer(source.place, source.index, source.spec));
  }
  for (const auto& [node, index] : request.packed) {
    context.set_packed(node, context.add_buffer(Place::kPacked, index, OperandSpec{}));
  }
}

/// Gives each output its buffer; a value that is several outputs is written to the first of them.
std::vector<View> add_destinations(const PlanRequest& request, LoweringContext& context) {
  std::vector<View> views;
  std::unordered_map<const Value*, bool> seen;
  for (std::size_t i = 0; i < request.destinations.size(); ++i) {
    const PlanDestination& destination = request.destinations[i];
    views.push_back(context.add_buffer(Place::kOutput, static_cast<int>(i), destination.spec));
    if (seen.emplace(destination.value, true).second) {
      context.set_destination(destination.value, views.back());
    }
  }
  return views;
}

void lower_node(const Node* node, LoweringContext& context) {
  const LoweringRow* row = find_lowering(node->id());
  if (row == nullptr) throw Error(ErrorKind::kInternal, "no lowering for this op");
  context.begin_node(node);
  row->lower(*node, context);
  context.end_node();
}

void lower_group(const NodeGroup& group, LoweringContext& context) {
  if (group.nodes.size() == 1) return lower_node(group.nodes.front(), context);
  context.begin_node(group.nodes.back(), &group.nodes);
  lower_pointwise_group(group, context);
  context.end_node();
}

/// Errors tell the node. A dimension or an index that a tensor does not have is the file's fault:
/// no exporter writes it.
void lower_groups(const PlanRequest& request, LoweringContext& context) {
  SizeChecker checker(request.symbols);
  for (const NodeGroup& group : request.groups) {
    const Node* node = nullptr;
    try {
      for (const Node* member : group.nodes) {
        node = member;
        checker.check(*member);
      }
      lower_group(group, context);
    } catch (const Error& error) {
      if (!error.where().empty()) throw;
      throw Error(error.kind(), error.message(), node->where(), error.hint());
    } catch (const std::out_of_range&) {
      throw Error(ErrorKind::kInvalidArgument, "an argument does not fit the operand's dimensions",
                  node->where());
    }
  }
}

/// Copies what is not in output memory yet: views of something else, inputs, constants, and values
/// that are output twice.
void finish_destinations(const PlanRequest& request, const std::vector<View>& views,
                         LoweringContext& context,
                         std::vector<std::optional<SourceWindow>>* windows) {
  if (windows != nullptr) windows->assign(views.size(), std::nullopt);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const View from = context.view(request.destinations[i].value);
    if (from.buffer == views[i].buffer) continue;
    const Buffer& buffer = context.buffers().at(static_cast<std::size_t>(from.buffer));
    if (windows != nullptr && buffer.place == Place::kInput) {
      const auto element = static_cast<std::int64_t>(dtype_size(from.dtype()));
      (*windows)[i] = SourceWindow{buffer.index, from.offset * element, from.spec};
      continue;
    }
    context.copy(from, views[i]);
  }
}

/// Places arena buffers by their lives and resolves the steps' locations.
void place_buffers(const LoweringContext& context, Plan& plan) {
  const std::vector<Buffer>& buffers = context.buffers();
  std::vector<int> interval_of(buffers.size(), -1);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    if (buffer.place != Place::kArena || buffer.first_step < 0) continue;
    interval_of[i] = static_cast<int>(plan.intervals.size());
    plan.intervals.push_back({0, buffer.bytes, buffer.first_step, buffer.last_step});
  }
  plan.arena_bytes = assign_arena(plan.intervals);

  const auto offset = [&](int buffer) {
    return plan.intervals[static_cast<std::size_t>(interval_of[static_cast<std::size_t>(buffer)])]
        .offset;
  };
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    Step& step = plan.steps[i];
    plan.operand_count = std::max(plan.operand_count, step.operands.size());
    for (std::size_t j = 0; j < step.operands.size(); ++j) {
      Location& location = step.operands[j];
      if (location.place != Place::kArena) continue;
      location.byte_offset += offset(context.step_buffers()[i][j]);
    }
    if (context.scratch_buffers()[i] >= 0)
      step.scratch_offset = offset(context.scratch_buffers()[i]);
  }
}

}  // namespace

std::unique_ptr<Plan> make_plan(const PlanRequest& request,
                                std::vector<std::optional<SourceWindow>>* windows) {
  LoweringContext context(request.symbols, request.threads);
  context.set_row_counts(request.row_counts);
  bind_sources(request, context);
  const std::vector<View> destinations = add_destinations(request, context);
  lower_groups(request, context);
  finish_destinations(request, destinations, context, windows);

  auto plan = std::make_unique<Plan>();
  plan->steps = context.take_steps();
  for (const PlanDestination& destination : request.destinations) {
    plan->outputs.push_back(
        {destination.spec.dtype, destination.spec.sizes, destination.spec.strides});
  }
  place_buffers(context, *plan);
  static std::atomic<std::uint64_t> next_id{0};
  plan->symbols = request.symbols;
  plan->id = next_id++;
  return plan;
}

}  // namespace unfuse::cpu
