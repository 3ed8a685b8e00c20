// Exported programs: load and run, without torch.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "argument.h"
#include "bindings.h"
#include "compile_options.h"
#include "program/compiled_program.h"
#include "program/padded_rows.h"
#include "tensor.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace unfuse::python {
namespace {

/// Constructed once at load; run() may be called from many threads at once.
struct ProgramHandle {
  std::shared_ptr<const CompiledProgram> program;
};

/// `path` is bytes: a file's name need not be UTF-8.
ProgramHandle load(const nb::bytes& path, const std::string& fully_masked_rows,
                   const std::string& padded_rows, const std::string& arithmetic, int threads,
                   const std::string& model) {
  CompileOptions options = compile_options(fully_masked_rows, arithmetic);
  options.padded_rows = padded_rows == "zero" ? PaddedRows::kZero : PaddedRows::kExported;
  options.threads = threads;
  const std::string name(path.c_str(), path.size());
  nb::gil_scoped_release unlocked;
  return {CompiledProgram::load(name, options, model)};
}

nb::object constant(const Argument& argument) {
  return to_python(argument, [](const Value*) -> nb::object { return nb::none(); });
}

/// ("tensor", "written", "integer" or "literal", name, the literal), one a leaf of the arguments.
/// "written" is a tensor that the model writes to.
nb::list leaves(const ProgramHandle& handle) {
  nb::list result;
  for (const FlatInput& input : handle.program->flat_inputs()) {
    const char* kind = input.position < 0 ? "literal"
                       : !input.is_tensor ? "integer"
                       : input.written    ? "written"
                                          : "tensor";
    result.append(nb::make_tuple(kind, input.name, constant(input.literal)));
  }
  return result;
}

/// (whether it is a tensor, the constant that it is otherwise), one a leaf of the result.
nb::list result_leaves(const ProgramHandle& handle) {
  nb::list result;
  for (const FlatOutput& output : handle.program->flat_outputs()) {
    result.append(nb::make_tuple(output.position >= 0, constant(output.constant)));
  }
  return result;
}

/// (name, dtype, sizes as text), one a tensor.
nb::list described(const std::vector<TensorInfo>& tensors) {
  nb::list result;
  for (const TensorInfo& tensor : tensors) {
    nb::list sizes;
    for (const SizeInfo& size : tensor.sizes) sizes.append(size.text);
    result.append(nb::make_tuple(tensor.name, std::string(dtype_name(tensor.dtype)), sizes));
  }
  return result;
}

std::vector<Tensor> run(const ProgramHandle& handle, const nb::sequence& descriptions,
                        int threads) {
  std::vector<Tensor> inputs;
  for (nb::handle description : descriptions) inputs.push_back(to_tensor(description));
  nb::gil_scoped_release unlocked;
  return handle.program->run(inputs, threads);
}

}  // namespace

void register_program(nb::module_& module) {
  module.def(
      "padded_rows_note",
      [](const std::string& encoder, bool zero) {
        return padded_rows_note(encoder, zero ? PaddedRowsOf::kZeroed : PaddedRowsOf::kCompiled);
      },
      "encoder"_a, "zero"_a, "What to tell about an encoder that eager runs with nested tensors.");
  nb::class_<Tensor>(module, "Tensor", "A result, whose memory can be shared.")
      .def_prop_ro("dtype",
                   [](const Tensor& tensor) { return std::string(dtype_name(tensor.dtype())); })
      .def("dlpack", &to_dlpack)
      .def("numpy", &to_numpy);
  nb::class_<ProgramHandle>(module, "Program", "An exported program, compiled.")
      .def_static("load", &load, "path"_a, "fully_masked_rows"_a, "padded_rows"_a, "arithmetic"_a,
                  "threads"_a, "model"_a)
      .def_prop_ro("in_spec",
                   [](const ProgramHandle& handle) { return handle.program->signature().in_spec; })
      .def_prop_ro("out_spec",
                   [](const ProgramHandle& handle) { return handle.program->signature().out_spec; })
      .def_prop_ro(
          "argument_names",
          [](const ProgramHandle& handle) { return handle.program->signature().argument_names; })
      .def_prop_ro(
          "namedtuple_fields",
          [](const ProgramHandle& handle) { return handle.program->signature().namedtuple_fields; })
      .def_prop_ro("inputs",
                   [](const ProgramHandle& handle) { return described(handle.program->inputs()); })
      .def_prop_ro("outputs",
                   [](const ProgramHandle& handle) { return described(handle.program->outputs()); })
      .def_prop_ro("leaves", &leaves)
      .def_prop_ro("result_leaves", &result_leaves)
      .def_prop_ro("report", [](const ProgramHandle& handle) { return handle.program->report(); })
      .def("run", &run, "inputs"_a, "threads"_a);
}

}  // namespace unfuse::python
