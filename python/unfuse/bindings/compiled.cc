// A whole graph compiled: passes, partition, an executable a piece, and what is left to torch.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>

#include "argument.h"
#include "bindings.h"
#include "compile_options.h"
#include "executable.h"
#include "graph.h"
#include "ir/print.h"
#include "passes/decompose/attention_to_aten.h"
#include "passes/decompose/open_fused.h"
#include "passes/pipeline.h"
#include "targets/cpu/target.h"
#include "targets/partition.h"
#include "unfuse/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace unfuse::python {
namespace {

struct Compiled {
  Graph graph;
  Report report;
  PartitionedGraph partitioned;
  /// One a piece; null where the piece is a node for torch.
  std::vector<std::shared_ptr<const cpu::Executable>> executables;
};

/// Takes nothing, so that torch runs every node.
class TorchTarget final : public Target {
 public:
  std::string name() const override { return "torch"; }
  bool has(const Op& /*op*/) const override { return true; }
  std::optional<std::string> refusal(const Node&) const override {
    return "every op is left to torch";
  }
};

std::shared_ptr<Compiled> compile_for(const Target& target, GraphImporter& importer,
                                      const std::string& fully_masked_rows,
                                      const std::string& arithmetic) {
  const CompileOptions options = compile_options(fully_masked_rows, arithmetic);
  auto compiled = std::make_shared<Compiled>();
  compiled->graph = importer.take();
  nb::gil_scoped_release unlocked;
  passes::run_pipeline(compiled->graph, options, compiled->report);
  // What torch has to run must be an op that torch knows.
  passes::write_back_attention(compiled->graph, [&target](const Node& attention) {
    return target.refusal(attention).has_value();
  });
  compiled->partitioned = partition(compiled->graph, target, compiled->report);
  for (Piece& piece : compiled->partitioned.pieces) {
    compiled->executables.push_back(
        piece.on_target
            ? cpu::Executable::compile(std::move(piece.graph), options, &compiled->report.notes)
            : nullptr);
  }
  return compiled;
}

std::shared_ptr<Compiled> compile(GraphImporter& importer, const std::string& fully_masked_rows,
                                  const std::string& arithmetic) {
  return compile_for(cpu::CpuTarget(), importer, fully_masked_rows, arithmetic);
}

std::shared_ptr<Compiled> open_for_torch(GraphImporter& importer,
                                         const std::string& fully_masked_rows) {
  return compile_for(TorchTarget(), importer, fully_masked_rows, "fastest");
}

/// Opens the fused ops alone, and leaves every node to torch.
std::shared_ptr<Compiled> open_fused(GraphImporter& importer, const std::string& to,
                                     bool sdpa_semantics) {
  passes::OpenRequest request;
  request.to = to == "core" ? passes::OpenTo::kCore : passes::OpenTo::kSdpa;
  request.sdpa_semantics = sdpa_semantics;
  auto compiled = std::make_shared<Compiled>();
  compiled->graph = importer.take();
  const nb::gil_scoped_release unlocked;
  passes::open_fused(compiled->graph, request, compiled->report);
  compiled->partitioned = partition(compiled->graph, TorchTarget(), compiled->report);
  compiled->executables.resize(compiled->partitioned.pieces.size());
  return compiled;
}

/// A step of the program as Python sees it.
struct PieceView {
  std::shared_ptr<Compiled> compiled;
  std::size_t index = 0;
  const Piece& piece() const { return compiled->partitioned.pieces[index]; }
  const Node& node() const {
    if (piece().node == nullptr) throw Error(ErrorKind::kInternal, "this piece is no node");
    return *piece().node;
  }
};

/// A slot of the program in a template of arguments.
struct Slot {
  int index = 0;
};

nb::object executable(const PieceView& view) {
  const auto& held = view.compiled->executables[view.index];
  return held == nullptr ? nb::none() : nb::cast(ExecutableHandle{held});
}

/// The node's arguments in schema order: (name, keyword only, value), values of the graph as Slots.
nb::list arguments(const PieceView& view) {
  const Node& node = view.node();
  const std::vector<Value*> operands = node.operands();
  const auto slot_of = [&](const Value* value) {
    const auto found = std::find(operands.begin(), operands.end(), value);
    const auto place = static_cast<std::size_t>(found - operands.begin());
    return nb::cast(Slot{view.piece().input_slots.at(place)});
  };
  nb::list result;
  const auto& declared = node.op().schema.arguments;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    result.append(nb::make_tuple(declared[i].name, declared[i].keyword_only,
                                 to_python(node.arguments()[i], slot_of)));
  }
  return result;
}

/// Symbols that results of this node are, by result: what torch returns there is their value.
nb::list result_symbols(const PieceView& view) {
  nb::list result;
  for (const Value* value : view.node().results()) {
    const auto* integer = std::get_if<IntType>(&value->type());
    result.append(integer == nullptr ? nb::none() : nb::cast(integer->value));
  }
  return result;
}

/// (name, target, size of a symbolic int or None, elements or None): constants that passes made
/// come with their elements.
nb::list graph_inputs(const Compiled& compiled) {
  nb::list result;
  for (const GraphInput& input : compiled.graph.inputs()) {
    const auto* integer =
        input.value == nullptr ? nullptr : std::get_if<IntType>(&input.value->type());
    result.append(
        nb::make_tuple(input.value == nullptr ? nb::none() : nb::cast(input.value->name()),
                       input.target, integer == nullptr ? nb::none() : nb::cast(integer->value),
                       input.data.defined() ? nb::cast(input.data) : nb::none()));
  }
  return result;
}

const char* kind_name(OutputKind kind) { return kind == OutputKind::kUser ? "user" : "mutation"; }

/// (kind, target of a mutation, slot or -1, the constant where there is no slot).
nb::list graph_outputs(const Compiled& compiled) {
  nb::list result;
  const auto& outputs = compiled.graph.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const int slot = compiled.partitioned.output_slots.at(i);
    nb::object constant = nb::none();
    if (slot < 0) {
      constant = to_python(outputs[i].value, [](const Value*) -> nb::object { return nb::none(); });
    }
    result.append(nb::make_tuple(kind_name(outputs[i].kind), outputs[i].target, slot, constant));
  }
  return result;
}

nb::list pieces(const std::shared_ptr<Compiled>& compiled) {
  nb::list result;
  for (std::size_t i = 0; i < compiled->partitioned.pieces.size(); ++i) {
    result.append(nb::cast(PieceView{compiled, i}));
  }
  return result;
}

void register_report(nb::module_& module) {
  nb::class_<LeftOp>(module, "LeftOp")
      .def_ro("op", &LeftOp::op)
      .def_ro("count", &LeftOp::count)
      .def_ro("reason", &LeftOp::reason)
      .def_ro("module_path", &LeftOp::module_path)
      .def_ro("source", &LeftOp::source);
  nb::class_<Report>(module, "Report")
      .def_ro("partitions", &Report::partitions)
      .def_ro("opened", &Report::opened)
      .def_ro("left_to_torch", &Report::left_to_torch)
      .def_ro("notes", &Report::notes);
}

}  // namespace

void register_compiled(nb::module_& module) {
  register_report(module);
  nb::class_<Slot>(module, "Slot").def_ro("index", &Slot::index);
  nb::class_<PieceView>(module, "Piece")
      .def_prop_ro("on_target", [](const PieceView& view) { return view.piece().on_target; })
      .def_prop_ro("executable", &executable)
      .def_prop_ro("input_slots", [](const PieceView& view) { return view.piece().input_slots; })
      .def_prop_ro("output_slots", [](const PieceView& view) { return view.piece().output_slots; })
      .def_prop_ro("op", [](const PieceView& view) { return view.node().op().name; })
      .def_prop_ro("where", [](const PieceView& view) { return view.node().where(); })
      .def_prop_ro("origin",
                   [](const PieceView& view) {
                     const Origin& origin = view.node().origin();
                     return nb::make_tuple(origin.module_path, origin.source);
                   })
      .def_prop_ro("import_index", [](const PieceView& view) { return view.node().import_index(); })
      .def_prop_ro("arguments", &arguments)
      .def_prop_ro("result_symbols", &result_symbols);
  nb::class_<Compiled>(module, "Compiled")
      .def_ro("report", &Compiled::report)
      .def_prop_ro("slot_count",
                   [](const Compiled& compiled) { return compiled.partitioned.slot_count; })
      .def_prop_ro("inputs", &graph_inputs)
      .def_prop_ro("outputs", &graph_outputs)
      .def_prop_ro("pieces", &pieces)
      .def("__str__", [](const Compiled& compiled) { return print(compiled.graph); });
  module.def("compile", &compile, "graph"_a, "fully_masked_rows"_a, "arithmetic"_a = "fastest",
             "Runs the passes, cuts the graph into pieces, compiles those that the CPU takes.");
  module.def("open_for_torch", &open_for_torch, "graph"_a, "fully_masked_rows"_a,
             "Runs the passes and leaves every node to torch: decompositions alone, for tests.");
  module.def("open_fused", &open_fused, "graph"_a, "to"_a, "sdpa_semantics"_a,
             "Opens the fused ops alone, and leaves every node to torch.");
}

}  // namespace unfuse::python
