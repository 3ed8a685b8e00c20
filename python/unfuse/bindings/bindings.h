// The parts of the extension module; each is registered by the file of its name.
#pragma once

#include <nanobind/nanobind.h>

namespace unfuse::python {

void register_error(nanobind::module_& module);
void register_types(nanobind::module_& module);
void register_graph(nanobind::module_& module);
void register_executable(nanobind::module_& module);
void register_compiled(nanobind::module_& module);
void register_parameter_state(nanobind::module_& module);
void register_profile(nanobind::module_& module);
void register_decompose(nanobind::module_& module);
void register_program(nanobind::module_& module);
void register_onnx_export(nanobind::module_& module);

}  // namespace unfuse::python
