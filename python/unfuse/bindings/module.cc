#include <nanobind/nanobind.h>

#include "bindings.h"
#include "unfuse/version.h"

NB_MODULE(_unfuse, module) {
  module.doc() = "The compiled part of unfuse. Import unfuse, not this.";
  module.attr("version") = unfuse::version();
  unfuse::python::register_error(module);
  unfuse::python::register_types(module);
  unfuse::python::register_graph(module);
  unfuse::python::register_executable(module);
  unfuse::python::register_compiled(module);
  unfuse::python::register_program(module);
}
