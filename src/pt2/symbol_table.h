// The symbols of a program's sizes.
#pragma once

#include <map>
#include <set>
#include <string>

#include "ir/dim.h"
#include "pt2/json_reading.h"

namespace unfuse::pt2 {

/// Turns symbolic ints of the file into Dims, and knows which symbols have a value where.
class SymbolTable {
 public:
  /// `ranges` gets every symbol that is declared.
  explicit SymbolTable(SymbolRanges& ranges) : ranges_(&ranges) {}

  /// Reads "range_constraints". A bound that is null is infinite. The lower bound 2 that the
  /// exporter records for sizes means nothing: torch itself runs such programs with sizes 0 and 1.
  void declare(const Json& constraints);

  /// A size of an input declares its symbols, if nobody did.
  void set_reading_inputs(bool reading_inputs) { reading_inputs_ = reading_inputs; }

  /// The value of {"as_int": 3} or {"as_expr": {"expr_str": "..."}}. What no Dim can hold
  /// becomes a symbol with the expression's text as its name. Throws Error (kInvalidFile) on
  /// symbols that nobody declared.
  Dim read(const Json& sym_int);
  /// The same for a size or stride, which must not be a negative constant.
  Dim read_extent(const Json& sym_int);

  /// Values that symbols had when the model was exported, as far as the file has told so far.
  const SymbolValues& hints() const { return hints_; }

  /// Marks all symbols of `dim` as known from here on in program order.
  void bind(const Dim& dim);
  bool bound(const Dim& dim) const;

 private:
  Dim parse(const Json& text);
  void note_hint(const Dim& dim, const Json& expression);

  SymbolRanges* ranges_;
  bool reading_inputs_ = false;
  SymbolValues hints_;
  std::set<std::string> bound_;
  std::map<std::string, Dim> parsed_;
};

}  // namespace unfuse::pt2
