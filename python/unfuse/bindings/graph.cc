#include "graph.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "argument.h"
#include "bindings.h"
#include "ir/builder.h"
#include "ir/print.h"
#include "ir/schema.h"
#include "ops/catalogue.h"
#include "tensor.h"
#include "unfuse/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace unfuse::python {

Graph& GraphImporter::graph() {
  if (taken_) throw Error(ErrorKind::kInternal, "this graph has been compiled already");
  return graph_;
}

Graph GraphImporter::take() {
  Graph result = std::move(graph());
  taken_ = true;
  return result;
}

namespace {

InputKind input_kind(const std::string& name) {
  if (name == "user") return InputKind::kUser;
  if (name == "parameter") return InputKind::kParameter;
  if (name == "buffer") return InputKind::kBuffer;
  if (name == "constant") return InputKind::kConstant;
  throw Error(ErrorKind::kInternal, "there is no input kind " + name);
}

ValueHandle add_input(GraphImporter& importer, const std::string& name, nb::handle type,
                      const std::string& kind, const std::string& target, nb::handle data) {
  GraphInput input;
  input.kind = input_kind(kind);
  input.target = target;
  if (!data.is_none()) input.data = to_tensor(data);
  return {importer.graph().add_input(name, unboxed_type(type), std::move(input))};
}

/// What a node is, but for its arguments: one struct, so that the binding below stays readable.
struct NodeDescription {
  std::string op;
  std::optional<std::string> schema;  ///< given when the node must be opaque
  std::string name;
  std::string module_path;
  std::string source;
  int import_index = -1;
};

std::vector<ValueHandle> add_node(GraphImporter& importer, const NodeDescription& description,
                                  const nb::sequence& positional, const nb::dict& keywords,
                                  const nb::sequence& types) {
  Graph& graph = importer.graph();
  const Op& op = description.schema
                     ? graph.opaque_op(description.op, parse_schema(*description.schema))
                     : ops::get(description.op);
  Arguments arguments;
  for (nb::handle object : positional) arguments.push_back(to_argument(object));
  std::vector<KeywordArgument> named;
  for (auto [key, value] : keywords) {
    named.push_back({nb::cast<std::string>(key), to_argument(value)});
  }
  arguments = complete_arguments(op, std::move(arguments), named);
  conform_arguments(op, arguments);
  std::vector<Type> result_types;
  for (nb::handle type : types) result_types.push_back(unboxed_type(type));
  Node* node = graph.create_node(op, std::move(arguments), std::move(result_types), nullptr,
                                 description.name);
  node->set_origin({description.module_path, description.source});
  node->set_import_index(description.import_index);
  std::vector<ValueHandle> results;
  for (Value* result : node->results()) results.push_back({result});
  return results;
}

void add_output(GraphImporter& importer, nb::handle value) {
  GraphOutput output;
  output.value = to_argument(value);
  importer.graph().add_output(std::move(output));
}

}  // namespace

void register_graph(nb::module_& module) {
  nb::class_<ValueHandle>(module, "Value", "A value of a graph under construction.")
      .def_prop_ro("name", [](ValueHandle handle) { return handle.value->name(); });
  nb::class_<NodeDescription>(module, "NodeDescription")
      .def(
          "__init__",
          [](NodeDescription* self, std::string op, std::optional<std::string> schema,
             std::string name, std::string module_path, std::string source, int import_index) {
            new (self) NodeDescription{std::move(op),          std::move(schema), std::move(name),
                                       std::move(module_path), std::move(source), import_index};
          },
          "op"_a, "schema"_a = nb::none(), "name"_a = "", "module_path"_a = "", "source"_a = "",
          "import_index"_a = -1);
  nb::class_<GraphImporter>(module, "Graph", "A graph under construction.")
      .def(nb::init<>())
      .def(
          "add_symbol",
          [](GraphImporter& importer, const std::string& name, std::int64_t minimum,
             std::int64_t maximum) {
            importer.graph().symbols[name] = Range{minimum, maximum};
          },
          "name"_a, "minimum"_a, "maximum"_a)
      .def("add_input", &add_input, "name"_a, "type"_a, "kind"_a, "target"_a, "data"_a = nb::none(),
           "`data` is a Tensor that the graph keeps, or None.")
      .def("add_node", &add_node, "description"_a, "arguments"_a, "keywords"_a, "types"_a,
           "One value a type.")
      .def("add_output", &add_output, "value"_a)
      .def("__str__", [](GraphImporter& importer) { return print(importer.graph()); });
  module.def(
      "knows_op", [](const std::string& name) { return ops::find(name) != nullptr; }, "name"_a);
}

}  // namespace unfuse::python
