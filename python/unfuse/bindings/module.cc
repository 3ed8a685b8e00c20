#include <nanobind/nanobind.h>

#include "bindings.h"
#include "unfuse/version.h"

NB_MODULE(_unfuse, module) {
  module.doc() = "The compiled part of unfuse. Import unfuse, not this.";
  module.attr("version") = unfuse::version();
  // Dynamo keeps compiled code until the process ends, and nanobind would report ours as leaked
  // (tests/python/test_exit.py). Off, but for the test that asks whether it is all.
  nanobind::set_leak_warnings(false);
  module.def("set_leak_warnings", [](bool enabled) { nanobind::set_leak_warnings(enabled); });
  unfuse::python::register_error(module);
  unfuse::python::register_types(module);
  unfuse::python::register_graph(module);
  unfuse::python::register_executable(module);
  unfuse::python::register_compiled(module);
  unfuse::python::register_parameter_state(module);
  unfuse::python::register_profile(module);
  unfuse::python::register_program(module);
  unfuse::python::register_decompose(module);
  unfuse::python::register_onnx_export(module);
}
