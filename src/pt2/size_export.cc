#include "pt2/size_export.h"

#include <optional>
#include <vector>

#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

std::string number(std::int64_t value) { return "Integer(" + std::to_string(value) + ")"; }

std::string joined(const char* function, const std::vector<std::string>& operands) {
  if (operands.size() == 1) return operands.front();
  std::string text = std::string(function) + "(";
  for (std::size_t i = 0; i < operands.size(); ++i) text += (i > 0 ? ", " : "") + operands[i];
  return text + ")";
}

const char* function_name(Atom::Kind kind) {
  switch (kind) {
    case Atom::Kind::kFloorDiv:
      return "FloorDiv";
    case Atom::Kind::kMod:
      return "Mod";
    case Atom::Kind::kMin:
      return "Min";
    case Atom::Kind::kMax:
      return "Max";
    case Atom::Kind::kSymbol:
      break;
  }
  return "";
}

}  // namespace

void SizeExporter::learn(const std::string& expression, const Dim& size) {
  known_.emplace(size.to_string(), expression);
  constexpr std::string_view kStart = "Symbol('";
  for (std::size_t at = expression.find(kStart); at != std::string::npos;
       at = expression.find(kStart, at + 1)) {
    const std::size_t name = at + kStart.size();
    const std::size_t quote = expression.find('\'', name);
    const std::size_t end = expression.find(')', name);
    if (quote == std::string::npos || end == std::string::npos) return;
    symbols_.emplace(expression.substr(name, quote - name), expression.substr(at, end + 1 - at));
  }
}

std::string SizeExporter::atom(const Atom& atom) const {
  if (atom.kind == Atom::Kind::kSymbol) {
    if (const auto found = symbols_.find(atom.text); found != symbols_.end()) return found->second;
    // An expression that no Dim can hold has a symbol of its own.
    if (const auto found = known_.find(atom.text); found != known_.end()) return found->second;
    throw Error(ErrorKind::kUnsupported, "the size " + atom.text + " cannot be written to a file");
  }
  std::vector<std::string> operands;
  for (const Dim& operand : atom.operands) operands.push_back(expression(operand));
  return joined(function_name(atom.kind), operands);
}

std::string SizeExporter::expression(const Dim& size) const {
  if (const auto value = size.constant()) return number(*value);
  if (const auto found = known_.find(size.to_string()); found != known_.end()) {
    return found->second;
  }
  std::vector<std::string> summands;
  for (const Dim::Term& term : size.terms()) {
    std::vector<std::string> factors;
    if (term.coefficient != 1) factors.push_back(number(term.coefficient));
    for (const auto& factor : term.factors) factors.push_back(atom(*factor));
    summands.push_back(joined("Mul", factors));
  }
  if (size.constant_term() != 0) summands.push_back(number(size.constant_term()));
  return joined("Add", summands);
}

nlohmann::ordered_json SizeExporter::size(const Dim& size) const {
  if (const auto value = size.constant()) return {{"as_int", *value}};
  nlohmann::ordered_json hint = nullptr;
  try {
    hint = {{"as_int", size.evaluate(hints_)}};
  } catch (const Error&) {  // data-dependent, or a symbol whose value nobody recorded
  }
  return {{"as_expr", {{"expr_str", expression(size)}, {"hint", hint}}}};
}

}  // namespace unfuse::pt2
