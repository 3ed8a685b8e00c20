#include "targets/cpu/preparation.h"

#include <fmt/format.h>

#include <algorithm>

#include "targets/cpu/copy_tensor.h"
#include "targets/cpu/layout.h"
#include "targets/cpu/prepared_values.h"
#include "targets/cpu/workspace.h"
#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

/// Packing takes 16-bit weights as they are, so a float32 copy of one need not be made for it.
const Value* before_widening(const Value* value) {
  const Node* node = value->producer();
  const bool widens =
      node != nullptr && node->is("aten._to_copy.default") && value->dtype() == DType::kFloat32 &&
      dtype_size(node->input(0)->dtype()) == 2 && is_floating_point(node->input(0)->dtype());
  return widens ? node->input(0) : value;
}

/// What a constant is put together of along its first dimension: just for packing it, the whole
/// need not be there any longer than one layer's turn.
std::vector<const Value*> parts_of(const Value* constant) {
  const Node* node = constant->producer();
  if (node == nullptr || !node->is("aten.cat.default")) return {constant};
  const Argument::Tensors& tensors = node->argument("tensors").tensors();
  const bool are_rows = std::all_of(tensors.begin(), tensors.end(), [&](const Value* part) {
    return part->rank() == constant->rank() && part->dtype() == constant->dtype();
  });
  if (!are_rows || node->argument("dim").integer() != 0) return {constant};
  return {tensors.begin(), tensors.end()};
}

/// The tensors below each other in memory of its own; a single one as it is.
Tensor put_together(const std::vector<Tensor>& parts, int threads) {
  if (parts.size() == 1) return parts.front();
  std::vector<std::int64_t> sizes = parts.front().sizes();
  sizes[0] = 0;
  for (const Tensor& part : parts) sizes[0] += part.sizes()[0];
  Tensor whole = Tensor::empty(parts.front().dtype(), sizes);
  auto* to = static_cast<std::byte*>(whole.data());
  for (const Tensor& part : parts) {
    copy_tensor(part,
                Tensor::view(to, part.dtype(), part.sizes(), whole.strides(), whole.storage()),
                threads);
    to += static_cast<std::size_t>(part.numel()) * dtype_size(part.dtype());
  }
  return whole;
}

/// Nodes that some output depends on.
std::unordered_set<const Node*> live_nodes(const Graph& graph) {
  std::unordered_set<const Node*> live;
  const auto mark = [&](const Value* value) {
    if (value->producer() != nullptr) live.insert(value->producer());
  };
  for (const GraphOutput& output : graph.outputs()) {
    if (output.value.is_value()) mark(output.value.value());
  }
  for (const Node* node = graph.last_node(); node != nullptr; node = node->previous()) {
    if (!live.contains(node)) continue;
    for (const Value* operand : node->operands()) mark(operand);
  }
  return live;
}

OperandSpec constant_spec(const Value* value) {
  const TensorType& type = value->tensor();
  const auto sizes = constants(type.sizes);
  if (!sizes) {
    throw Error(ErrorKind::kUnsupported, "a parameter's sizes must not be symbolic",
                "parameter %" + value->name());
  }
  return dense_or_contiguous(type.dtype, *sizes, constants(type.strides));
}

std::string constant_where(const GraphInput& input) {
  return fmt::format("parameter '{}'", input.target.empty() ? input.value->name() : input.target);
}

/// The tensor itself when it is laid out as the plan expects, else a copy that is.
Tensor in_layout(const Tensor& tensor, const OperandSpec& spec, const GraphInput& input,
                 int threads) {
  if (!tensor.defined()) {
    throw Error(ErrorKind::kInvalidArgument, "no data was given", constant_where(input));
  }
  if (tensor.dtype() != spec.dtype || tensor.sizes() != spec.sizes) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("the tensor is {} {}, but {} {} is needed", dtype_name(tensor.dtype()),
                    sizes_text(tensor.sizes()), dtype_name(spec.dtype), sizes_text(spec.sizes)),
        constant_where(input));
  }
  const OperandSpec given{tensor.dtype(), tensor.sizes(), tensor.strides()};
  if (same_layout(given, spec) || spec.numel() == 0) return tensor;
  const Tensor owner = Tensor::empty(spec.dtype, spec.sizes);
  Tensor copied = Tensor::view(owner.data(), spec.dtype, spec.sizes, spec.strides, owner.storage());
  copy_tensor(tensor, copied, threads);
  return copied;
}

}  // namespace

PreparationGraph::PreparationGraph(const Graph& graph, int threads)
    : graph_(&graph), threads_(threads), prepared_(prepared_values(graph)) {
  find_run_nodes();
  find_needed();
  make_preparation_plan();
}

void PreparationGraph::find_run_nodes() {
  for (const GraphInput& input : graph_->inputs()) {
    if (is_constant_input(input)) constants_.push_back({&input, constant_spec(input.value)});
  }
  const std::unordered_set<const Node*> live = live_nodes(*graph_);
  for (const Node* node : graph_->nodes()) {
    const auto& results = node->results();
    const bool runs = std::any_of(results.begin(), results.end(),
                                  [&](const Value* value) { return !is_prepared(value); });
    if (runs && live.contains(node)) run_nodes_.push_back(node);
  }
  run_groups_ = group_pointwise(run_nodes_, {});
}

void PreparationGraph::find_needed() {
  const auto keep = [&](const Value* value) {
    if (is_prepared(value)) kept_[static_cast<std::size_t>(need(value))] = true;
  };
  for (const Node* node : run_nodes_) {
    std::unordered_set<const Value*> replaced;
    const LoweringRow* row = find_lowering(node->id());
    if (row != nullptr && row->pack != nullptr) request_pack(*node, *row, replaced);
    for (const Value* operand : node->operands()) {
      if (!replaced.contains(operand)) keep(operand);
    }
  }
  for (const GraphOutput& output : graph_->outputs()) {
    if (output.value.is_value()) keep(output.value.value());
  }
}

int PreparationGraph::need(const Value* value) {
  const auto found = std::find(needed_.begin(), needed_.end(), value);
  if (found != needed_.end()) return static_cast<int>(found - needed_.begin());
  needed_.push_back(value);
  kept_.push_back(false);
  return static_cast<int>(needed_.size()) - 1;
}

void PreparationGraph::request_pack(const Node& node, const LoweringRow& row,
                                    std::unordered_set<const Value*>& replaced) {
  std::optional<PackRequest> request =
      row.pack(node, [&](const Value* value) { return is_prepared(value); });
  if (!request) return;
  replaced.insert(request->constant);
  std::vector<int> destinations;
  for (const Value* part : parts_of(before_widening(request->constant))) {
    destinations.push_back(need(part));
  }
  for (std::size_t i = 0; i < pack_jobs_.size(); ++i) {
    if (pack_jobs_[i].destinations != destinations || pack_jobs_[i].request.key != request->key) {
      continue;
    }
    packed_of_node_[&node] = static_cast<int>(i);
    return;
  }
  packed_of_node_[&node] = static_cast<int>(pack_jobs_.size());
  pack_jobs_.push_back({std::move(destinations), std::move(*request)});
}

void PreparationGraph::make_preparation_plan() {
  PlanRequest request;
  request.threads = threads_;
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    request.sources.push_back(
        {constants_[i].input->value, Place::kInput, static_cast<int>(i), constants_[i].spec});
  }
  const std::unordered_set<const Value*> kept(needed_.begin(), needed_.end());
  std::unordered_set<const Value*> wanted = kept;
  std::vector<const Node*> nodes;
  for (const Node* node = graph_->last_node(); node != nullptr; node = node->previous()) {
    const auto& results = node->results();
    const bool used = std::any_of(results.begin(), results.end(), [&](const Value* value) {
      return is_prepared(value) && wanted.contains(value);
    });
    if (!used) continue;
    nodes.push_back(node);
    for (const Value* operand : node->operands()) wanted.insert(operand);
  }
  std::reverse(nodes.begin(), nodes.end());
  request.groups = group_pointwise(nodes, kept);
  for (const Value* value : needed_) {
    const std::vector<std::int64_t> sizes = *unfuse::constants(value->sizes());
    request.destinations.push_back({value, OperandSpec::contiguous(value->dtype(), sizes)});
  }
  plan_ = make_plan(request, &windows_);
  for (std::size_t i = 0; i < needed_.size(); ++i) {
    if (!kept_[i]) continue;
    const OperandSpec& spec = windows_[i] ? windows_[i]->spec : request.destinations[i].spec;
    sources_.push_back({needed_[i], Place::kPrepared, static_cast<int>(i), spec});
  }
}

std::vector<Tensor> PreparationGraph::constants_in_layout(
    std::span<const Tensor> parameters) const {
  std::vector<Tensor> tensors;
  std::size_t next = 0;
  for (const Constant& constant : constants_) {
    const bool own = constant.input->data.defined();
    if (!own && next == parameters.size()) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("only {} parameters were given", parameters.size()),
                  constant_where(*constant.input));
    }
    const Tensor& tensor = own ? constant.input->data : parameters[next++];
    tensors.push_back(in_layout(tensor, constant.spec, *constant.input, threads_));
  }
  if (next != parameters.size()) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("{} parameters were given, but {} are "
                                                         "needed",
                                                         parameters.size(), next));
  }
  return tensors;
}

std::shared_ptr<const Preparation> PreparationGraph::prepare(
    std::span<const Tensor> parameters) const {
  const std::vector<Tensor> constants = constants_in_layout(parameters);
  std::vector<void*> inputs;
  for (const Tensor& tensor : constants) inputs.push_back(tensor.data());

  std::vector<Tensor> results;
  std::vector<void*> outputs;
  for (std::size_t i = 0; i < needed_.size(); ++i) {
    if (windows_[i]) {
      const Tensor& constant = constants[static_cast<std::size_t>(windows_[i]->source_index)];
      auto* base = static_cast<std::byte*>(constant.data());
      void* data = base == nullptr ? nullptr : base + windows_[i]->byte_offset;
      const OperandSpec& spec = windows_[i]->spec;
      results.push_back(
          Tensor::view(data, spec.dtype, spec.sizes, spec.strides, constant.storage()));
    } else {
      const ConcreteType& type = plan_->outputs[i];
      results.push_back(Tensor::empty(type.dtype, type.sizes));
    }
    outputs.push_back(results.back().data());
  }
  Workspace workspace;
  run_plan(*plan_, {inputs, outputs, {}, {}}, workspace);

  auto preparation = std::make_shared<Preparation>();
  for (const PackJob& job : pack_jobs_) {
    std::vector<Tensor> parts;
    for (const int index : job.destinations) {
      parts.push_back(results[static_cast<std::size_t>(index)]);
    }
    const Tensor constant = put_together(parts, threads_);
    const OperandSpec spec{constant.dtype(), constant.sizes(), constant.strides()};
    preparation->kept_packed.push_back(job.request.pack(spec, constant.data(), threads_));
    preparation->packed.push_back(packed_operand(*preparation->kept_packed.back()));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    preparation->tensors.push_back(kept_[i] ? results[i].data() : nullptr);
    if (kept_[i]) preparation->kept_tensors.push_back(results[i]);
  }
  return preparation;
}

}  // namespace unfuse::cpu
