// Dim: a size that may be symbolic, as a canonical integer polynomial.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace unfuse {

/// Closed interval that a symbol's value lies in.
struct Range {
  std::int64_t minimum = 0;
  std::int64_t maximum = INT64_MAX;
};

using SymbolRanges = std::map<std::string, Range>;
using SymbolValues = std::map<std::string, std::int64_t>;

/// What comparing two symbolic sizes can tell. A pass fires on kYes only.
enum class Answer { kNo, kYes, kUnknown };

class Dim;

/// A factor of a monomial: a symbol, or an operation that the polynomial cannot look into.
struct Atom {
  enum class Kind { kSymbol, kFloorDiv, kMod, kMin, kMax };
  Kind kind;
  std::string text;           ///< canonical form; equal text means equal atom
  std::vector<Dim> operands;  ///< empty for a symbol
};

/// Sum of coefficient * product of atoms, kept sorted and merged, so that equal polynomials have
/// equal representations. Cheap to copy; a constant allocates nothing.
/// Arithmetic that overflows 64 bits throws Error (kInvalidArgument).
class Dim {
 public:
  Dim() = default;
  Dim(std::int64_t constant) : constant_(constant) {}  // NOLINT: an int is a Dim everywhere
  static Dim symbol(const std::string& name);
  static Dim of(const std::shared_ptr<const Atom>& atom);

  static Dim floordiv(const Dim& numerator, const Dim& denominator);
  static Dim mod(const Dim& numerator, const Dim& denominator);
  static Dim min(const Dim& left, const Dim& right);
  static Dim max(const Dim& left, const Dim& right);

  Dim operator+(const Dim& other) const;
  Dim operator-(const Dim& other) const;
  Dim operator*(const Dim& other) const;
  Dim operator-() const { return Dim(0) - *this; }
  Dim& operator+=(const Dim& other) { return *this = *this + other; }
  Dim& operator*=(const Dim& other) { return *this = *this * other; }

  /// Equality of representation: true means equal for all symbol values; false may mean unknown.
  bool operator==(const Dim& other) const;
  bool operator!=(const Dim& other) const { return !(*this == other); }

  bool is_constant() const { return terms_.empty(); }
  /// The value, when it does not depend on a symbol.
  std::optional<std::int64_t> constant() const;

  /// If this is coefficient * divisor exactly, the quotient; empty when that cannot be shown.
  std::optional<Dim> exact_quotient(const Dim& divisor) const;

  /// Throws Error (kInvalidArgument) naming a symbol without a value, or on division by zero.
  std::int64_t evaluate(const SymbolValues& values) const;

  /// Replaces symbols; those not in the map stay.
  Dim substitute(const std::map<std::string, Dim>& replacements) const;

  /// Bounds over all values that the symbols may take.
  Range range(const SymbolRanges& ranges) const;

  void collect_symbols(std::vector<std::string>& names) const;
  /// Terms of the polynomial, a constant one included.
  std::size_t term_count() const { return terms_.size() + (constant_ != 0 ? 1 : 0); }
  std::string to_string() const;

  /// What the polynomial is made of: coefficient * product of factors.
  struct Term {
    std::vector<std::shared_ptr<const Atom>> factors;  ///< sorted by text, repeated for powers
    std::int64_t coefficient = 0;
  };
  const std::vector<Term>& terms() const { return terms_; }
  std::int64_t constant_term() const { return constant_; }

 private:
  /// The atom that this is, with nothing around it; null otherwise.
  const Atom* sole_atom() const;
  /// This is min(..., operand, ...), or max for kMax.
  bool is_bound_of(Atom::Kind kind, const Dim& operand) const;
  friend Answer less_equal(const Dim& left, const Dim& right, const SymbolRanges& ranges);
  static Dim from_atom(Atom::Kind kind, std::string text, std::vector<Dim> operands);
  void add_term(Term term);
  static int compare_factors(const Term& left, const Term& right);

  std::int64_t constant_ = 0;
  std::vector<Term> terms_;  // sorted by factors, no zero coefficient
};

Answer equal(const Dim& left, const Dim& right, const SymbolRanges& ranges = {});
Answer less_equal(const Dim& left, const Dim& right, const SymbolRanges& ranges = {});

/// Product of all; 1 for none.
Dim product(const std::vector<Dim>& dims);

/// The sizes as integers, when all are constant.
std::optional<std::vector<std::int64_t>> constants(const std::vector<Dim>& dims);

}  // namespace unfuse
