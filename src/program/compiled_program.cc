#include "program/compiled_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory_resource>
#include <new>
#include <utility>

#include "passes/pipeline.h"
#include "program/padded_rows.h"
#include "targets/cpu/copy_tensor.h"
#include "targets/cpu/parallel.h"
#include "targets/cpu/target.h"
#include "targets/partition.h"
#include "unfuse/error.h"

namespace unfuse {
namespace {

std::string place_of(const LeftOp& left) {
  if (left.module_path.empty() && left.source.empty()) return "";
  if (left.source.empty()) return " at " + left.module_path;
  if (left.module_path.empty()) return " at " + left.source;
  return fmt::format(" at {} ({})", left.module_path, left.source);
}

/// Throws Error (kUnsupported) listing every op that the target does not take.
void refuse_what_is_left(const Report& report, const std::string& where) {
  if (report.left_to_torch.empty()) return;
  std::string list;
  std::int64_t count = 0;
  for (const LeftOp& left : report.left_to_torch) {
    count += left.count;
    list += fmt::format("{}{}{}{}: {}", list.empty() ? "" : "; ", left.op,
                        left.count > 1 ? fmt::format(" ({} times)", left.count) : "",
                        place_of(left), left.reason);
  }
  throw Error(
      ErrorKind::kUnsupported,
      fmt::format("{} node{} of the model cannot run here: {}", count, count == 1 ? "" : "s", list),
      where,
      "saving program.run_decompositions() takes apart what PyTorch composes of other ops; "
      "torch.compile(model, backend=\"unfuse\") runs what is left in PyTorch");
}

TensorInfo describe(const std::string& name, const Type& type, const SymbolRanges& symbols) {
  TensorInfo info;
  info.name = name;
  if (std::holds_alternative<IntType>(type)) {
    info.dtype = DType::kInt64;
    return info;
  }
  const auto& tensor = std::get<TensorType>(type);
  info.dtype = tensor.dtype;
  for (const Dim& size : tensor.sizes) {
    const Range range = size.range(symbols);
    info.sizes.push_back({size.to_string(), range.minimum, range.maximum});
  }
  return info;
}

std::string input_name(const GraphInput& input) {
  return input.target.empty() && input.value != nullptr ? input.value->name() : input.target;
}

/// What stands for a result that is no tensor.
Argument constant_of(const Argument& output) {
  if (!output.is_value()) return output;
  const auto* integer = std::get_if<IntType>(&output.value()->type());
  return integer == nullptr ? Argument() : Argument(integer->value);
}

bool is_state_kind(OutputKind kind) {
  return kind == OutputKind::kBufferMutation || kind == OutputKind::kParameterMutation;
}

std::int64_t read_int(const Tensor& tensor, const std::string& name) {
  if (tensor.dtype() == DType::kInt64 && tensor.rank() == 0) return *tensor.data_as<std::int64_t>();
  throw Error(ErrorKind::kInvalidArgument, "an int64 tensor without dimensions is needed",
              fmt::format("input '{}'", name));
}

/// `name` may be empty.
Tensor allocate(const cpu::ConcreteType& type, std::string_view name) {
  try {
    Tensor memory = Tensor::empty(type.dtype, type.sizes);
    if (memory.strides() == type.strides) return memory;
    return Tensor::view(memory.data(), type.dtype, type.sizes, type.strides, memory.storage());
  } catch (const std::bad_alloc&) {
    double bytes = static_cast<double>(dtype_size(type.dtype));
    for (const std::int64_t size : type.sizes) bytes *= static_cast<double>(size);
    throw Error(ErrorKind::kUnsupported,
                fmt::format("for inputs of these sizes it takes {:.2f} GB, more than there is",
                            bytes / 1e9),
                name.empty() ? "a result" : fmt::format("output '{}'", name));
  }
}

}  // namespace

CompiledProgram::CompiledProgram(pt2::ExportedProgram exported, const CompileOptions& options,
                                 const std::string& where)
    : signature_(std::move(exported.signature)),
      threads_(options.threads > 0 ? options.threads : cpu::default_threads()) {
  Graph& graph = exported.graph;
  name_outputs(graph);
  report_.graphs = 1;
  report_.notes = options.padded_rows == PaddedRows::kZero ? zero_padded_rows(exported)
                                                           : padded_rows_notes(exported);
  passes::run_pipeline(graph, options, report_);
  partition(graph, cpu::CpuTarget(), report_);
  refuse_what_is_left(report_, where);
  make_state(graph);
  describe_call(graph);
  find_destinations(graph, where);
  executable_ = cpu::Executable::compile(std::move(graph), options, &report_.notes);
  preparation_ = executable_->prepare({});
}

std::shared_ptr<const CompiledProgram> CompiledProgram::load(const std::string& path,
                                                             const CompileOptions& options,
                                                             const std::string& model) {
  return std::make_shared<const CompiledProgram>(pt2::read(path, model), options, path);
}

/// Names are those in the file: passes may put other values in an output's place.
void CompiledProgram::name_outputs(const Graph& graph) {
  for (const GraphOutput& output : graph.outputs()) {
    if (output.kind != OutputKind::kUser) continue;
    FlatOutput flat;
    if (output.value.is_value() && output.value.value()->is_tensor()) {
      flat.name = output.value.value()->name();
    }
    flat_outputs_.push_back(std::move(flat));
  }
}

/// What the model updates is an input of each run, not a part of the preparation.
void CompiledProgram::make_state(Graph& graph) {
  for (const GraphOutput& output : graph.outputs()) {
    if (is_state_kind(output.kind)) state_names_.push_back(output.target);
  }
  State state(state_names_.size());
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const GraphInput& input = graph.inputs()[i];
    if (input.kind == InputKind::kUser || input.kind == InputKind::kLiteral) continue;
    const auto found = std::find(state_names_.begin(), state_names_.end(), input.target);
    if (found == state_names_.end()) continue;
    state[static_cast<std::size_t>(found - state_names_.begin())] = input.data;
    graph.set_input_kind(i, InputKind::kUser);
  }
  state_ = std::make_shared<const State>(std::move(state));
}

void CompiledProgram::describe_call(const Graph& graph) {
  for (const GraphInput& input : graph.inputs()) {
    if (input.kind == InputKind::kLiteral) {
      flat_inputs_.push_back({input.target, -1, false, false, input.literal});
      continue;
    }
    if (input.kind != InputKind::kUser) continue;
    const auto state = std::find(state_names_.begin(), state_names_.end(), input.target);
    if (state != state_names_.end()) {
      sources_.push_back({true, static_cast<std::size_t>(state - state_names_.begin()), true});
      continue;
    }
    const std::string name = input_name(input);
    const bool is_tensor = input.value->is_tensor();
    sources_.push_back({false, inputs_.size(), is_tensor});
    flat_inputs_.push_back({name, static_cast<int>(inputs_.size()), is_tensor, false, {}});
    inputs_.push_back(describe(name, input.value->type(), graph.symbols));
  }
}

void CompiledProgram::find_destinations(const Graph& graph, const std::string& where) {
  const auto missing = [&](const GraphOutput& output) -> Error {
    return {ErrorKind::kInvalidFile, "writes to '" + output.target + "', which it does not have",
            where};
  };
  std::size_t flat = 0;
  for (const GraphOutput& output : graph.outputs()) {
    FlatOutput* named = nullptr;
    if (output.kind == OutputKind::kUser) named = &flat_outputs_.at(flat++);
    if (!output.value.is_value() || !output.value.value()->is_tensor()) {
      if (named != nullptr) named->constant = constant_of(output.value);
      continue;
    }
    Destination destination;
    destination.kind = output.kind;
    if (named != nullptr) {
      named->position = static_cast<int>(outputs_.size());
      destination.index = outputs_.size();
      if (named->name.empty()) named->name = output.value.value()->name();
      outputs_.push_back(describe(named->name, output.value.value()->type(), graph.symbols));
    } else if (is_state_kind(output.kind)) {
      const auto state = std::find(state_names_.begin(), state_names_.end(), output.target);
      destination.index = static_cast<std::size_t>(state - state_names_.begin());
      if (!state_->at(destination.index).defined()) throw missing(output);
    } else {
      const auto input = std::find_if(inputs_.begin(), inputs_.end(), [&](const TensorInfo& info) {
        return info.name == output.target;
      });
      if (input == inputs_.end()) throw missing(output);
      destination.index = static_cast<std::size_t>(input - inputs_.begin());
      for (FlatInput& written : flat_inputs_) {
        if (written.position == input - inputs_.begin()) written.written = true;
      }
    }
    destinations_.push_back(destination);
  }
}

/// What the executable takes in one run. Lies on the stack unless there are very many inputs.
struct CompiledProgram::Gathered {
  std::array<std::byte, 4096> memory;
  std::pmr::monotonic_buffer_resource resource{memory.data(), memory.size()};
  // Not in braces: a list of one address would be meant.
  std::pmr::vector<cpu::InputValue> values = std::pmr::vector<cpu::InputValue>(&resource);
  std::pmr::vector<void*> addresses = std::pmr::vector<void*>(&resource);  ///< null for an int
};

void CompiledProgram::gather(std::span<const Tensor> inputs, const State& state,
                             Gathered& gathered) const {
  if (inputs.size() != inputs_.size()) {
    std::string names;
    for (const TensorInfo& info : inputs_) names += (names.empty() ? "" : ", ") + info.name;
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("{} inputs were given, but {} are needed", inputs.size(), inputs_.size()), "",
        names.empty() ? "" : "the inputs are: " + names);
  }
  gathered.values.reserve(sources_.size());
  gathered.addresses.reserve(sources_.size());
  for (const Source& source : sources_) {
    const Tensor& tensor = source.is_state ? state[source.index] : inputs[source.index];
    if (!tensor.defined()) {
      throw Error(ErrorKind::kInvalidArgument, "the tensor is undefined",
                  fmt::format("input '{}'", inputs_[source.index].name));
    }
    if (source.is_tensor) {
      gathered.values.emplace_back(tensor);
    } else {
      gathered.values.emplace_back(read_int(tensor, inputs_[source.index].name));
    }
    gathered.addresses.push_back(source.is_tensor ? tensor.data() : nullptr);
  }
}

std::vector<Tensor> CompiledProgram::run(std::span<const Tensor> inputs, int threads) const {
  const int run_threads = threads > 0 ? threads : threads_;
  const std::shared_ptr<const State> before = state();
  Gathered gathered;
  gather(inputs, *before, gathered);
  const std::shared_ptr<const cpu::Plan> plan = executable_->plan(gathered.values, run_threads);

  const std::vector<cpu::ConcreteType>& types = cpu::Executable::output_types(*plan);
  std::vector<Tensor> results;
  results.reserve(types.size());
  std::pmr::vector<void*> addresses(&gathered.resource);
  addresses.reserve(types.size());
  for (const cpu::ConcreteType& type : types) {
    const Destination& destination = destinations_[results.size()];
    const bool named = destination.kind == OutputKind::kUser;
    results.push_back(
        allocate(type, named ? std::string_view(outputs_[destination.index].name) : ""));
    addresses.push_back(results.back().data());
  }
  executable_->run(*plan, *preparation_, gathered.addresses, addresses);
  return hand_out(std::move(results), inputs, run_threads);
}

/// Returns the user's results. Writes the others where they belong: into inputs, or a new state.
std::vector<Tensor> CompiledProgram::hand_out(std::vector<Tensor> results,
                                              std::span<const Tensor> inputs, int threads) const {
  if (outputs_.size() == results.size()) return results;
  std::vector<Tensor> outputs;
  outputs.reserve(outputs_.size());
  State after(state_names_.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Destination& destination = destinations_[i];
    if (destination.kind == OutputKind::kUser) {
      outputs.push_back(std::move(results[i]));
    } else if (is_state_kind(destination.kind)) {
      after.at(destination.index) = std::move(results[i]);
    } else {
      cpu::copy_tensor(results[i], inputs[destination.index], threads);
    }
  }
  if (!after.empty()) set_state(std::make_shared<const State>(std::move(after)));
  return outputs;
}

std::int64_t CompiledProgram::arena_bytes(std::span<const Tensor> inputs) const {
  const std::shared_ptr<const State> before = state();
  Gathered gathered;
  gather(inputs, *before, gathered);
  return cpu::Executable::arena_bytes(*executable_->plan(gathered.values, threads_));
}

std::shared_ptr<const CompiledProgram::State> CompiledProgram::state() const {
  const std::lock_guard<std::mutex> lock(state_mutex_);
  return state_;
}

void CompiledProgram::set_state(std::shared_ptr<const State> state) const {
  const std::lock_guard<std::mutex> lock(state_mutex_);
  state_ = std::move(state);
}

}  // namespace unfuse
