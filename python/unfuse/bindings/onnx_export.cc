// Exported programs as ONNX models.
#include "program/onnx_export.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "compile_options.h"
#include "graph.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace unfuse::python {
namespace {

/// Paths are bytes: a file's name need not be UTF-8.
Report export_onnx(const nb::bytes& path, const std::string& model, const nb::bytes& output,
                   int opset, const std::string& fully_masked_rows, std::uint64_t largest_message) {
  OnnxOptions options;
  options.opset = opset;
  options.fully_masked_rows = fully_masked_rows_named(fully_masked_rows);
  options.largest_message = largest_message;
  const std::string from(path.c_str(), path.size());
  const std::string to(output.c_str(), output.size());
  nb::gil_scoped_release unlocked;
  return unfuse::export_onnx(from, model, to, options).report;
}

/// A graph under construction, which is taken.
void export_graph(GraphImporter& importer, const nb::bytes& output, int opset) {
  Graph graph = importer.take();
  OnnxOptions options;
  options.opset = opset;
  unfuse::export_onnx(graph, {}, std::string(output.c_str(), output.size()), options, "");
}

}  // namespace

void register_onnx_export(nb::module_& module) {
  module.attr("oldest_opset") = onnx::kOldestOpset;
  module.attr("newest_opset") = onnx::kNewestOpset;
  module.attr("default_opset") = onnx::kDefaultOpset;
  module.def("export_graph_onnx", &export_graph, "graph"_a, "output"_a, "opset"_a,
             "For the tests of single ops.");
  module.def("export_onnx", &export_onnx, "path"_a, "model"_a, "output"_a, "opset"_a,
             "fully_masked_rows"_a, "largest_message"_a = onnx::kLargestMessage);
}

}  // namespace unfuse::python
