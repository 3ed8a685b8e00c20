// The CPU target's executable: preparing parameters, planning for sizes, running on pointers.
#include "targets/cpu/executable.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <tuple>

#include "bindings.h"
#include "executable.h"
#include "tensor.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace unfuse::python {
namespace {

struct PreparationHandle {
  std::shared_ptr<const cpu::Preparation> preparation;
};

struct PlanHandle {
  std::shared_ptr<const cpu::Plan> plan;
};

/// (kind, "tensor" or "integer", whether its elements are known already), one an input.
std::vector<std::tuple<std::string, std::string, bool>> inputs(const ExecutableHandle& handle) {
  std::vector<std::tuple<std::string, std::string, bool>> result;
  for (const GraphInput& input : handle.executable->inputs()) {
    const bool tensor = input.value != nullptr && input.value->is_tensor();
    result.emplace_back(input_kind_name(input.kind), tensor ? "tensor" : "integer",
                        input.data.defined());
  }
  return result;
}

PreparationHandle prepare(const ExecutableHandle& handle, const nb::sequence& parameters) {
  std::vector<Tensor> tensors;
  for (nb::handle parameter : parameters) tensors.push_back(to_tensor(parameter));
  nb::gil_scoped_release unlocked;
  return {handle.executable->prepare(tensors)};
}

PlanHandle plan(const ExecutableHandle& handle, const nb::sequence& values, int threads) {
  std::deque<Tensor> tensors;  // which the inputs refer to
  std::vector<cpu::InputValue> inputs;
  for (nb::handle value : values) {
    if (PyLong_Check(value.ptr())) {
      inputs.emplace_back(nb::cast<std::int64_t>(value));
    } else {
      inputs.emplace_back(tensors.emplace_back(to_tensor(value)));
    }
  }
  nb::gil_scoped_release unlocked;
  return {handle.executable->plan(inputs, threads)};
}

/// (dtype name, sizes, strides), one an output.
std::vector<std::tuple<std::string, std::vector<std::int64_t>, std::vector<std::int64_t>>>
output_types(const PlanHandle& handle) {
  std::vector<std::tuple<std::string, std::vector<std::int64_t>, std::vector<std::int64_t>>> result;
  for (const cpu::ConcreteType& type : cpu::Executable::output_types(*handle.plan)) {
    result.emplace_back(std::string(dtype_name(type.dtype)), type.sizes, type.strides);
  }
  return result;
}

/// Addresses of a list of Python ints, without a cast object each: this runs at every call.
std::vector<void*> addresses(const nb::list& list) {
  std::vector<void*> result;
  result.reserve(list.size());
  for (nb::handle address : list) result.push_back(PyLong_AsVoidPtr(address.ptr()));
  return result;
}

void run(const ExecutableHandle& handle, const PlanHandle& plan,
         const PreparationHandle& preparation, const nb::list& inputs, const nb::list& outputs) {
  const std::vector<void*> input_addresses = addresses(inputs);
  const std::vector<void*> output_addresses = addresses(outputs);
  nb::gil_scoped_release unlocked;
  handle.executable->run(*plan.plan, *preparation.preparation, input_addresses, output_addresses);
}

}  // namespace

void register_executable(nb::module_& module) {
  nb::class_<PreparationHandle>(module, "Preparation", "Packed parameters: a snapshot.");
  nb::class_<PlanHandle>(module, "Plan", "Kernel calls for concrete sizes and strides.")
      .def_prop_ro("output_types", &output_types)
      .def_prop_ro(
          "steps",
          [](const PlanHandle& handle) { return cpu::Executable::step_names(*handle.plan); })
      .def_prop_ro("arena_bytes", [](const PlanHandle& handle) {
        return cpu::Executable::arena_bytes(*handle.plan);
      });
  nb::class_<ExecutableHandle>(module, "Executable", "A piece compiled for the CPU.")
      .def_prop_ro("inputs", &inputs)
      .def("prepare", &prepare, "parameters"_a)
      .def("plan", &plan, "inputs"_a, "threads"_a)
      .def("run", &run, "plan"_a, "preparation"_a, "inputs"_a, "outputs"_a);
}

}  // namespace unfuse::python
