// Nodes that compute symbolic sizes for other nodes to take.
#include "pt2/level_export.h"
#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

using nlohmann::ordered_json;

ordered_json operand(const char* name, ordered_json argument) {
  return {{"name", name}, {"arg", std::move(argument)}, {"kind", 1}};
}

ordered_json pair(ordered_json left, ordered_json right) {
  ordered_json inputs = ordered_json::array();
  inputs.push_back(operand("a", std::move(left)));
  inputs.push_back(operand("b", std::move(right)));
  return inputs;
}

struct SizeFunction {
  const char* target;
  const char* name;
};

SizeFunction function_of(Atom::Kind kind) {
  switch (kind) {
    case Atom::Kind::kFloorDiv:
      return {"_operator.floordiv", "floordiv"};
    case Atom::Kind::kMod:
      return {"_operator.mod", "mod"};
    case Atom::Kind::kMin:
      return {"torch.sym_min", "sym_min"};
    case Atom::Kind::kMax:
      return {"torch.sym_max", "sym_max"};
    case Atom::Kind::kSymbol:
      break;
  }
  throw Error(ErrorKind::kInternal, "a symbol is no function");
}

}  // namespace

std::string LevelExporter::name_of_size(const Dim& size) {
  if (const auto name = names_.name_of(size)) return *name;
  return write_size(size);
}

ordered_json LevelExporter::size_operand(const Dim& size) {
  if (const auto value = size.constant()) return {{"as_int", *value}};
  return {{"as_sym_int", {{"as_name", name_of_size(size)}}}};
}

std::string LevelExporter::write_size_call(const std::string& target, const std::string& base,
                                           ordered_json inputs, const Dim& size) {
  std::string name = names_.unused(base);
  ordered_json outputs = ordered_json::array();
  outputs.push_back({{"as_sym_int", {{"as_name", name}}}});
  ordered_json node = {{"target", target},
                       {"inputs", std::move(inputs)},
                       {"outputs", std::move(outputs)},
                       {"metadata", metadata(current_)},
                       {"is_hop_single_tensor_return", nullptr},
                       {"name", name}};
  written_.push_back({std::move(node), false, -1});
  types_["sym_int_values"][name] = sources_.sizes->size(size);
  names_.define(name, size);
  return name;
}

// A symbol that no tensor has as its size, by one that has a multiple of it.
std::string LevelExporter::solve_for(const Dim& symbol) {
  for (const auto& [text, known] : names_.extents()) {
    const Dim& size = known.first;
    if (size.terms().size() != 1) continue;
    const std::int64_t factor = size.terms().front().coefficient;
    if (size - Dim(size.constant_term()) != symbol * Dim(factor)) continue;
    const Dim shifted = size - Dim(size.constant_term());
    ordered_json multiple = size_operand(size);
    if (size.constant_term() != 0) {
      multiple = {{"as_sym_int",
                   {{"as_name",
                     write_size_call("_operator.sub", "sub",
                                     pair(std::move(multiple), {{"as_int", size.constant_term()}}),
                                     shifted)}}}};
    }
    if (factor == 1) return multiple.at("as_sym_int").at("as_name");
    return write_size_call("_operator.floordiv", "floordiv",
                           pair(std::move(multiple), {{"as_int", factor}}), symbol);
  }
  throw Error(ErrorKind::kUnsupported,
              "the size " + symbol.to_string() + " is that of no tensor before this node",
              current_ < 0 ? "" : target_name(current_));
}

std::string LevelExporter::write_size(const Dim& size) {
  if (const auto extent = names_.extent_of(size)) {
    ordered_json inputs = ordered_json::array();
    inputs.push_back(operand("self", {{"as_tensor", {{"name", extent->tensor}}}}));
    inputs.push_back(operand("dim", {{"as_int", extent->dimension}}));
    return write_size_call("torch.ops.aten.sym_size.int", "sym_size_int", std::move(inputs), size);
  }
  // A sum is computed term by term, a term factor by factor.
  const auto& terms = size.terms();
  const std::size_t summands = terms.size() + (size.constant_term() != 0 ? 1 : 0);
  if (summands > 1) {
    Dim last = size.constant_term() != 0 ? Dim(size.constant_term()) : Dim(0);
    if (last == Dim(0)) {
      last = Dim(terms.back().coefficient);
      for (const auto& factor : terms.back().factors) last *= Dim::of(factor);
    }
    const Dim rest = size - last;
    ordered_json inputs = pair(size_operand(rest), size_operand(last));
    return write_size_call("_operator.add", "add", std::move(inputs), size);
  }
  const Dim::Term& term = terms.front();
  if (term.coefficient != 1) {
    Dim rest(1);
    for (const auto& factor : term.factors) rest *= Dim::of(factor);
    ordered_json inputs = pair(size_operand(rest), {{"as_int", term.coefficient}});
    return write_size_call("_operator.mul", "mul", std::move(inputs), size);
  }
  if (term.factors.size() > 1) {
    Dim rest(1);
    for (std::size_t i = 0; i + 1 < term.factors.size(); ++i) rest *= Dim::of(term.factors[i]);
    ordered_json inputs = pair(size_operand(rest), size_operand(Dim::of(term.factors.back())));
    return write_size_call("_operator.mul", "mul", std::move(inputs), size);
  }
  const Atom& atom = *term.factors.front();
  if (atom.kind == Atom::Kind::kSymbol) return solve_for(size);
  const SizeFunction function = function_of(atom.kind);
  ordered_json inputs = pair(size_operand(atom.operands.at(0)), size_operand(atom.operands.at(1)));
  return write_size_call(function.target, function.name, std::move(inputs), size);
}

}  // namespace unfuse::pt2
