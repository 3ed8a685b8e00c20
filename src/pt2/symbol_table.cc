#include "pt2/symbol_table.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "pt2/symbolic_expression.h"
#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

constexpr std::int64_t kMinusInfinity = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kInfinity = std::numeric_limits<std::int64_t>::max();

// Torch names data-dependent symbols u0, u1, ...; all others come from inputs.
bool is_from_input(const std::string& symbol) { return !symbol.starts_with('u'); }

bool is_symbol_name(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char character) {
    return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_';
  });
}

Range read_range(const std::string& symbol, const Json& constraint) {
  Range range{kMinusInfinity, kInfinity};
  if (const auto minimum = constraint.find("min_val")) range.minimum = minimum->integer();
  if (const auto maximum = constraint.find("max_val")) range.maximum = maximum->integer();
  if (range.minimum > range.maximum) constraint.fail("the range of " + symbol + " is empty");
  if (is_from_input(symbol) && range.minimum == 2) range.minimum = 0;
  return range;
}

}  // namespace

void SymbolTable::declare(const Json& constraints) {
  for (const std::string& symbol : constraints.keys()) {
    // Sizes that depend on another have an entry as well, "2*s77", which says nothing new.
    if (!is_symbol_name(symbol)) continue;
    (*ranges_)[symbol] = read_range(symbol, constraints.at(symbol));
  }
}

Dim SymbolTable::read(const Json& sym_int) {
  const std::string kind = sym_int.only_key();
  if (kind == "as_int") return sym_int.at(kind).integer();
  if (kind != "as_expr") sym_int.fail("expected as_int or as_expr");
  const Json expression = sym_int.at(kind);
  Dim dim = parse(expression.at("expr_str"));
  note_hint(dim, expression);
  return dim;
}

void SymbolTable::note_hint(const Dim& dim, const Json& expression) {
  std::vector<std::string> symbols;
  dim.collect_symbols(symbols);
  if (symbols.size() != 1 || dim != Dim::symbol(symbols.front())) return;
  const auto hint = expression.find("hint");
  if (!hint) return;
  if (const auto value = hint->find("as_int")) hints_.emplace(symbols.front(), value->integer());
}

Dim SymbolTable::read_extent(const Json& sym_int) {
  Dim extent = read(sym_int);
  if (const auto value = extent.constant(); value && *value < 0) {
    sym_int.fail("negative: " + std::to_string(*value));
  }
  return extent;
}

Dim SymbolTable::parse(const Json& text) {
  const std::string& source = text.string();
  if (const auto found = parsed_.find(source); found != parsed_.end()) return found->second;
  SymbolicExpression expression;
  try {
    expression = parse_symbolic_expression(source);
  } catch (const Error& error) {
    text.fail(error.message());
  }
  for (const std::string& symbol : expression.symbols) {
    if (ranges_->contains(symbol)) continue;
    if (!reading_inputs_) text.fail("the symbol " + symbol + " is defined nowhere");
    (*ranges_)[symbol] = Range{};
  }
  for (const std::string& symbol : expression.unknown) {
    ranges_->emplace(symbol, Range{kMinusInfinity, kInfinity});
  }
  parsed_.emplace(source, expression.dim);
  return expression.dim;
}

void SymbolTable::bind(const Dim& dim) {
  std::vector<std::string> symbols;
  dim.collect_symbols(symbols);
  bound_.insert(symbols.begin(), symbols.end());
}

bool SymbolTable::bound(const Dim& dim) const {
  std::vector<std::string> symbols;
  dim.collect_symbols(symbols);
  return std::all_of(symbols.begin(), symbols.end(),
                     [this](const std::string& symbol) { return bound_.contains(symbol); });
}

}  // namespace unfuse::pt2
