// A run whose inputs look like those of the run before allocates nothing but its results.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "passes/passes.h"
#include "pt2/exported_program.h"
#include "tensor_io/tensor_file.h"
#include "unfuse/program.h"

namespace {

std::atomic<bool> counting = false;
std::atomic<int> allocations = 0;

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (counting.load(std::memory_order_relaxed)) {
    ++allocations;
    if (std::getenv("TRAP")) __builtin_trap();
  }
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded > 0 ? rounded : alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Every form of new that the standard library does not make of these calls one of them.
void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace unfuse {
namespace {

template <typename Function>
int allocations_of(const Function& function) {
  allocations = 0;
  counting = true;
  function();
  counting = false;
  return allocations;
}

std::string model_file(const std::string& name) {
  return std::string(UNFUSE_TEST_DATA) + "/" + name + ".pt2";
}

std::vector<Tensor> inputs_of(const Program& program, const std::string& model) {
  const tensor_io::NamedTensors file =
      tensor_io::read(std::string(UNFUSE_TEST_DATA) + "/" + model + ".inputs.safetensors");
  std::vector<Tensor> inputs;
  for (const TensorInfo& info : program.inputs()) {
    for (const auto& [name, tensor] : file) {
      if (name == info.name) inputs.push_back(tensor);
    }
  }
  return inputs;
}

/// What a run writes besides the user's results: buffers, which are replaced, and inputs.
struct Written {
  std::vector<Tensor> buffers;
  std::vector<Tensor> inputs;
};

Written written_by(const std::string& model) {
  pt2::ExportedProgram exported = pt2::read(model_file(model));
  passes::functionalize(exported.graph);
  Written written;
  for (const GraphOutput& output : exported.graph.outputs()) {
    if (output.kind == OutputKind::kUser) continue;
    const TensorType& type = output.value.value()->tensor();
    const bool is_input = output.kind == OutputKind::kUserInputMutation;
    (is_input ? written.inputs : written.buffers)
        .push_back(Tensor::empty(type.dtype, constants(type.sizes).value()));
  }
  return written;
}

/// Allocations that the results of a run take, made as a run may make them: a list of all that is
/// computed, and what of it goes to whom.
int allocations_of_results(const std::vector<Tensor>& results, const Written& written) {
  return allocations_of([&] {
    std::vector<Tensor> computed;
    computed.reserve(results.size() + written.buffers.size() + written.inputs.size());
    for (const auto* tensors : {&results, &written.buffers, &written.inputs}) {
      for (const Tensor& like : *tensors) {
        computed.push_back(Tensor::empty(like.dtype(), like.sizes()));
      }
    }
    if (computed.size() == results.size()) return;
    std::vector<Tensor> returned;
    returned.reserve(results.size());
    if (written.buffers.empty()) return;
    const auto state = std::make_shared<std::vector<Tensor>>(written.buffers.size());
  });
}

/// Models with steps that oneDNN runs, which allocates a few objects each time: convolutions.
const std::set<std::string> kRunsOnednn = {"vit"};

std::vector<std::string> models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(UNFUSE_TEST_DATA)) {
    const std::string name = entry.path().stem().string();
    const bool runs = name != "left_to_torch" && !kRunsOnednn.contains(name);
    if (entry.path().extension() == ".pt2" && runs) names.push_back(name);
  }
  return names;
}

class SteadyState : public testing::TestWithParam<std::string> {};

TEST_P(SteadyState, AllocatesResultsOnly) {
  const Program program = Program::load(model_file(GetParam()));
  const std::vector<Tensor> inputs = inputs_of(program, GetParam());
  ASSERT_EQ(inputs.size(), program.inputs().size());
  const std::vector<Tensor> results = program.run(inputs);
  const int expected = allocations_of_results(results, written_by(GetParam()));
  EXPECT_EQ(allocations_of([&] { program.run(inputs); }), expected);
}

INSTANTIATE_TEST_SUITE_P(Models, SteadyState, testing::ValuesIn(models()),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace unfuse
