// Opening fused ops from file to file.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "program/decompose_file.h"
#include "pt2/exported_program.h"
#include "pt2/write.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace unfuse::python {
namespace {

Report decompose(const std::string& path, const std::string& output, const std::string& to,
                 const std::vector<std::string>& only, bool sdpa_semantics, bool strict) {
  DecomposeFileOptions options;
  options.request = {to == "core" ? passes::OpenTo::kCore : passes::OpenTo::kSdpa, only,
                     sdpa_semantics};
  options.strict = strict;
  const nb::gil_scoped_release unlocked;
  return decompose_file(path, "", output, options);
}

void rewrite(const std::string& path, const std::string& model, const std::string& output) {
  const nb::gil_scoped_release unlocked;
  pt2::write(pt2::read(path, model), output);
}

}  // namespace

void register_decompose(nb::module_& module) {
  module.def("decompose_file", &decompose, "path"_a, "output"_a, "to"_a, "only"_a,
             "sdpa_semantics"_a, "strict"_a,
             "Opens the fused ops of a .pt2 file; its weights are copied unseen.");
  module.def("rewrite_file", &rewrite, "path"_a, "model"_a, "output"_a,
             "Reads a .pt2 file and writes what was read: for tests.");
}

}  // namespace unfuse::python
