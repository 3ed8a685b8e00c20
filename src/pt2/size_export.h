// Sizes as the export schema writes them.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "ir/dim.h"

namespace unfuse::pt2 {

/// Turns Dims into the symbolic expressions of the file that they came from.
class SizeExporter {
 public:
  /// `hints` are values that symbols had when the model was exported.
  explicit SizeExporter(SymbolValues hints) : hints_(std::move(hints)) {}

  /// Learns how the file writes the symbols in an expression, and this size as a whole.
  void learn(const std::string& expression, const Dim& size);

  /// {"as_int": 3}, or {"as_expr": {"expr_str": ..., "hint": ...}}. Throws Error (kUnsupported)
  /// for a symbol that no expression of the file holds.
  nlohmann::ordered_json size(const Dim& size) const;

 private:
  std::string expression(const Dim& size) const;
  std::string atom(const Atom& atom) const;

  SymbolValues hints_;
  std::map<std::string, std::string> symbols_;  // "s0" -> "Symbol('s0', positive=True)"
  std::map<std::string, std::string> known_;    // Dim::to_string() -> expression
};

}  // namespace unfuse::pt2
