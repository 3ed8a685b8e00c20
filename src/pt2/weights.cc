#include "pt2/weights.h"

#include <algorithm>
#include <cstring>

#include "pt2/failure.h"
#include "pt2/symbol_table.h"
#include "pt2/tensor_meta.h"
#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

constexpr const char* kWeightsFolder = "data/weights/";
constexpr const char* kConstantsFolder = "data/constants/";
// The size of the widest element; torch aligns members to 64 bytes.
constexpr std::size_t kAlignment = 16;

JsonDocument read_config(const Archive& archive, const std::string& member) {
  return JsonDocument(archive.read(member), archive.path(), member);
}

// Types in a configuration never are symbolic.
TensorType read_concrete_meta(const Json& meta) {
  SymbolRanges no_symbols;
  SymbolTable symbols(no_symbols);
  const Type type = read_tensor_meta(meta, symbols);
  const auto* tensor = std::get_if<TensorType>(&type);
  if (tensor == nullptr) meta.fail("only strided tensors can be read");
  const bool concrete = constants(tensor->sizes) && constants(tensor->strides) &&
                        tensor->storage_offset.is_constant();
  if (!concrete) meta.fail("a symbolic size");
  return *tensor;
}

// Elements that a storage must have; empty when that does not fit 64 bits.
std::optional<std::int64_t> elements_needed(const std::vector<std::int64_t>& sizes,
                                            const std::vector<std::int64_t>& strides,
                                            std::int64_t offset) {
  std::int64_t last = offset;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach)) return std::nullopt;
    if (__builtin_add_overflow(last, reach, &last)) return std::nullopt;
  }
  std::int64_t needed = 0;
  if (__builtin_add_overflow(last, std::int64_t{1}, &needed)) return std::nullopt;
  return needed;
}

bool is_mutated(const Graph& graph, const GraphInput& input) {
  return std::any_of(graph.outputs().begin(), graph.outputs().end(),
                     [&](const GraphOutput& output) {
                       return output.kind != OutputKind::kUser && output.target == input.target;
                     });
}

}  // namespace

Weights::Weights(const Archive& archive, const std::string& model)
    : archive_(&archive),
      weights_(read_config(archive, kWeightsFolder + model + "_weights_config.json")),
      constants_(read_config(archive, kConstantsFolder + model + "_constants_config.json")) {}

std::optional<Weights::Payload> Weights::find_in(const JsonDocument& config,
                                                 const std::string& folder,
                                                 const std::string& target) const {
  const auto meta = config.root().at("config").find(target);
  if (!meta) return std::nullopt;
  return Payload{folder, *meta};
}

Weights::Payload Weights::find(const GraphInput& input) const {
  const bool in_state_dict = input.kind != InputKind::kConstant && input.persistent;
  const auto in_weights = find_in(weights_, kWeightsFolder, input.target);
  const auto in_constants = find_in(constants_, kConstantsFolder, input.target);
  const auto& first = in_state_dict ? in_weights : in_constants;
  const auto& second = in_state_dict ? in_constants : in_weights;
  if (first) return *first;
  if (second) return *second;
  const JsonDocument& expected = in_state_dict ? weights_ : constants_;
  expected.root().at("config").fail("the tensor '" + input.target + "' is missing");
}

const Weights::Storage& Weights::storage(const std::string& member) {
  const auto found = storages_.find(member);
  if (found != storages_.end()) return found->second;
  const MappedMember mapped = archive_->map(member);
  Storage storage;
  storage.size = mapped.size;
  const auto address = reinterpret_cast<std::uintptr_t>(mapped.begin.get());
  if (address % kAlignment == 0 || mapped.size == 0) {
    // The mapping is read-only; Tensor has no const form.
    storage.begin = std::const_pointer_cast<std::byte>(mapped.begin);
  } else {
    const Tensor copy = Tensor::empty(DType::kUInt8, {static_cast<std::int64_t>(mapped.size)});
    std::memcpy(copy.data(), mapped.begin.get(), mapped.size);
    storage.begin = copy.storage();
  }
  return storages_.emplace(member, std::move(storage)).first->second;
}

Tensor Weights::read(const Payload& payload, const TensorType& type) {
  const std::string& path_name = payload.meta.at("path_name").string();
  if (!is_safe_member_name(path_name)) {
    payload.meta.fail("'" + path_name + "' leads outside the archive");
  }
  const std::string member = payload.folder + path_name;
  const Storage& storage = this->storage(member);
  const std::vector<std::int64_t> sizes = *constants(type.sizes);
  const std::vector<std::int64_t> strides = *constants(type.strides);
  const std::int64_t offset = *type.storage_offset.constant();
  const auto element_size = static_cast<std::int64_t>(dtype_size(type.dtype));
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) {
    return Tensor::view(storage.begin.get(), type.dtype, sizes, strides, storage.begin);
  }
  std::int64_t bytes = 0;
  const auto elements = elements_needed(sizes, strides, offset);
  if (!elements || __builtin_mul_overflow(*elements, element_size, &bytes)) {
    payload.meta.fail("its sizes, strides and offset overflow");
  }
  if (static_cast<std::uint64_t>(bytes) > storage.size) {
    const std::string holds = storage.size == 0
                                  ? " is empty (a model exported with fake tensors has no weights)"
                                  : " holds " + std::to_string(storage.size);
    payload.meta.fail("its type needs " + std::to_string(bytes) + " bytes, but member '" + member +
                      "'" + holds);
  }
  auto* begin = static_cast<std::byte*>(storage.begin.get()) + offset * element_size;
  return Tensor::view(begin, type.dtype, sizes, strides, storage.begin);
}

void Weights::attach_input(Graph& graph, std::size_t index) {
  const GraphInput& input = graph.inputs()[index];
  if (input.kind == InputKind::kUser || input.kind == InputKind::kLiteral) return;
  const bool needed = input.value->use_count() > 0 || is_mutated(graph, input);
  if (!input.value->is_tensor()) {
    // A custom object: only ops that are opaque to us take one.
    if (!needed) graph.erase_input(index);
    return;
  }
  const Payload payload = find(input);
  if (payload.meta.at("use_pickle").boolean()) {
    if (!needed) return graph.erase_input(index);
    pt2::fail(archive_->path(),
              "'" + input.target + "' is stored as a pickled object, which is never read",
              "export the model with plain tensors as weights, not tensor subclasses");
  }
  const Json meta = payload.meta.at("tensor_meta");
  const TensorType stored = read_concrete_meta(meta);
  const TensorType& recorded = input.value->tensor();
  if (stored.dtype != recorded.dtype || stored.sizes != recorded.sizes) {
    meta.fail("'" + input.target + "' is stored as " + to_string(stored) + ", the graph has " +
              to_string(recorded));
  }
  Tensor data = read(payload, stored);
  TensorType type = recorded;
  type.strides = stored.strides;
  type.storage_offset = stored.storage_offset;
  input.value->set_type(std::move(type));
  graph.set_input_data(index, std::move(data));
}

void Weights::attach(Graph& graph) {
  // Backwards, since inputs may be removed.
  for (std::size_t index = graph.inputs().size(); index-- > 0;) attach_input(graph, index);
}

}  // namespace unfuse::pt2
