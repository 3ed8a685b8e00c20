#include "ir/dim.h"

#include <algorithm>
#include <limits>

#include "unfuse/error.h"

namespace unfuse {
namespace {

[[noreturn]] void overflow() {
  throw Error(ErrorKind::kInvalidArgument, "a size does not fit into 64 bits");
}

std::int64_t checked_add(std::int64_t left, std::int64_t right) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(left, right, &sum)) overflow();
  return sum;
}

std::int64_t checked_multiply(std::int64_t left, std::int64_t right) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(left, right, &product)) overflow();
  return product;
}

std::int64_t floor_divide(std::int64_t numerator, std::int64_t denominator) {
  if (denominator == 0) {
    throw Error(ErrorKind::kInvalidArgument, "a size is divided by zero");
  }
  if (denominator == -1) return checked_multiply(numerator, -1);
  const std::int64_t quotient = numerator / denominator;
  const bool rounds_up = numerator % denominator != 0 && (numerator < 0) != (denominator < 0);
  return rounds_up ? quotient - 1 : quotient;
}

std::int64_t floor_modulo(std::int64_t numerator, std::int64_t denominator) {
  return numerator - checked_multiply(floor_divide(numerator, denominator), denominator);
}

constexpr std::int64_t kMinusInfinity = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kInfinity = std::numeric_limits<std::int64_t>::max();

// Bounds saturate at the infinities instead of overflowing.
std::int64_t saturating_add(std::int64_t left, std::int64_t right) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(left, right, &sum)) return sum;
  return left > 0 ? kInfinity : kMinusInfinity;
}

std::int64_t saturating_multiply(std::int64_t left, std::int64_t right) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(left, right, &product)) return product;
  return (left > 0) == (right > 0) ? kInfinity : kMinusInfinity;
}

// An unbounded end stays unbounded, whatever is added to it.
std::int64_t add_bound(std::int64_t left, std::int64_t right) {
  if (left == kMinusInfinity || right == kMinusInfinity) return kMinusInfinity;
  if (left == kInfinity || right == kInfinity) return kInfinity;
  return saturating_add(left, right);
}

std::int64_t multiply_bound(std::int64_t left, std::int64_t right) {
  if (left == 0 || right == 0) return 0;
  const bool unbounded =
      left == kInfinity || left == kMinusInfinity || right == kInfinity || right == kMinusInfinity;
  if (unbounded) return (left > 0) == (right > 0) ? kInfinity : kMinusInfinity;
  return saturating_multiply(left, right);
}

Range add_ranges(const Range& left, const Range& right) {
  return {add_bound(left.minimum, right.minimum), add_bound(left.maximum, right.maximum)};
}

Range multiply_ranges(const Range& left, const Range& right) {
  const std::int64_t corners[] = {
      multiply_bound(left.minimum, right.minimum), multiply_bound(left.minimum, right.maximum),
      multiply_bound(left.maximum, right.minimum), multiply_bound(left.maximum, right.maximum)};
  return {*std::min_element(std::begin(corners), std::end(corners)),
          *std::max_element(std::begin(corners), std::end(corners))};
}

Range floordiv_range(const Range& numerator, const Range& denominator) {
  const bool divisor_known_positive = denominator.minimum > 0;
  if (!divisor_known_positive) return {kMinusInfinity, kInfinity};
  auto divide = [](std::int64_t bound, std::int64_t by) {
    if (bound == kInfinity || bound == kMinusInfinity) return bound;
    return by == kInfinity ? (bound < 0 ? std::int64_t{-1} : std::int64_t{0})
                           : floor_divide(bound, by);
  };
  const std::int64_t low =
      divide(numerator.minimum, numerator.minimum < 0 ? denominator.minimum : denominator.maximum);
  const std::int64_t high =
      divide(numerator.maximum, numerator.maximum < 0 ? denominator.maximum : denominator.minimum);
  return {low, high};
}

Range mod_range(const Range& denominator) {
  if (denominator.minimum <= 0) return {kMinusInfinity, kInfinity};
  return {0, denominator.maximum == kInfinity ? kInfinity : denominator.maximum - 1};
}

std::string call_text(const char* name, const Dim& left, const Dim& right) {
  return std::string(name) + "(" + left.to_string() + ", " + right.to_string() + ")";
}

}  // namespace

Dim Dim::from_atom(Atom::Kind kind, std::string text, std::vector<Dim> operands) {
  Dim dim;
  Term term;
  term.factors.push_back(
      std::make_shared<const Atom>(Atom{kind, std::move(text), std::move(operands)}));
  term.coefficient = 1;
  dim.terms_.push_back(std::move(term));
  return dim;
}

Dim Dim::of(const std::shared_ptr<const Atom>& atom) {
  Dim dim;
  dim.terms_.push_back({{atom}, 1});
  return dim;
}

Dim Dim::symbol(const std::string& name) { return from_atom(Atom::Kind::kSymbol, name, {}); }

Dim Dim::floordiv(const Dim& numerator, const Dim& denominator) {
  const auto divisor = denominator.constant();
  if (divisor == 1) return numerator;
  if (const auto dividend = numerator.constant(); dividend && divisor) {
    return floor_divide(*dividend, *divisor);
  }
  if (divisor != 0) {
    if (auto quotient = numerator.exact_quotient(denominator)) return *quotient;
  }
  return from_atom(Atom::Kind::kFloorDiv, call_text("floordiv", numerator, denominator),
                   {numerator, denominator});
}

Dim Dim::mod(const Dim& numerator, const Dim& denominator) {
  const auto divisor = denominator.constant();
  if (divisor == 1) return 0;
  if (const auto dividend = numerator.constant(); dividend && divisor) {
    return floor_modulo(*dividend, *divisor);
  }
  if (divisor != 0 && numerator.exact_quotient(denominator)) return 0;
  return from_atom(Atom::Kind::kMod, call_text("mod", numerator, denominator),
                   {numerator, denominator});
}

const Atom* Dim::sole_atom() const {
  const bool alone = constant_ == 0 && terms_.size() == 1 && terms_[0].coefficient == 1 &&
                     terms_[0].factors.size() == 1;
  return alone ? terms_[0].factors[0].get() : nullptr;
}

bool Dim::is_bound_of(Atom::Kind kind, const Dim& operand) const {
  const Atom* atom = sole_atom();
  if (atom == nullptr || atom->kind != kind) return false;
  return std::any_of(atom->operands.begin(), atom->operands.end(), [&](const Dim& bound) {
    return bound == operand || bound.is_bound_of(kind, operand);
  });
}

Dim Dim::min(const Dim& left, const Dim& right) {
  if (left == right || left.is_bound_of(Atom::Kind::kMin, right)) return left;
  if (right.is_bound_of(Atom::Kind::kMin, left)) return right;
  if (left.is_constant() && right.is_constant()) return std::min(left.constant_, right.constant_);
  // Commutative: operands in the order of their texts, so that both spellings are one atom.
  const bool in_order = left.to_string() <= right.to_string();
  const Dim& first = in_order ? left : right;
  const Dim& second = in_order ? right : left;
  return from_atom(Atom::Kind::kMin, call_text("min", first, second), {first, second});
}

Dim Dim::max(const Dim& left, const Dim& right) {
  if (left == right || left.is_bound_of(Atom::Kind::kMax, right)) return left;
  if (right.is_bound_of(Atom::Kind::kMax, left)) return right;
  if (left.is_constant() && right.is_constant()) return std::max(left.constant_, right.constant_);
  const bool in_order = left.to_string() <= right.to_string();
  const Dim& first = in_order ? left : right;
  const Dim& second = in_order ? right : left;
  return from_atom(Atom::Kind::kMax, call_text("max", first, second), {first, second});
}

int Dim::compare_factors(const Term& left, const Term& right) {
  const std::size_t count = std::min(left.factors.size(), right.factors.size());
  for (std::size_t i = 0; i < count; ++i) {
    const int order = left.factors[i]->text.compare(right.factors[i]->text);
    if (order != 0) return order;
  }
  if (left.factors.size() == right.factors.size()) return 0;
  return left.factors.size() < right.factors.size() ? -1 : 1;
}

void Dim::add_term(Term term) {
  if (term.coefficient == 0) return;
  auto place = std::lower_bound(
      terms_.begin(), terms_.end(), term,
      [](const Term& left, const Term& right) { return compare_factors(left, right) < 0; });
  if (place == terms_.end() || compare_factors(*place, term) != 0) {
    terms_.insert(place, std::move(term));
    return;
  }
  place->coefficient = checked_add(place->coefficient, term.coefficient);
  if (place->coefficient == 0) terms_.erase(place);
}

Dim Dim::operator+(const Dim& other) const {
  Dim sum = *this;
  sum.constant_ = checked_add(constant_, other.constant_);
  for (const Term& term : other.terms_) sum.add_term(term);
  return sum;
}

Dim Dim::operator-(const Dim& other) const { return *this + other * Dim(-1); }

Dim Dim::operator*(const Dim& other) const {
  Dim product(checked_multiply(constant_, other.constant_));
  auto add_scaled = [&product](const Term& term, std::int64_t by) {
    Term scaled = term;
    scaled.coefficient = checked_multiply(term.coefficient, by);
    product.add_term(std::move(scaled));
  };
  for (const Term& term : terms_) add_scaled(term, other.constant_);
  for (const Term& term : other.terms_) add_scaled(term, constant_);
  for (const Term& left : terms_) {
    for (const Term& right : other.terms_) {
      Term term = left;
      term.factors.insert(term.factors.end(), right.factors.begin(), right.factors.end());
      std::stable_sort(term.factors.begin(), term.factors.end(),
                       [](const auto& a, const auto& b) { return a->text < b->text; });
      term.coefficient = checked_multiply(left.coefficient, right.coefficient);
      product.add_term(std::move(term));
    }
  }
  return product;
}

bool Dim::operator==(const Dim& other) const {
  if (constant_ != other.constant_ || terms_.size() != other.terms_.size()) return false;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    if (terms_[i].coefficient != other.terms_[i].coefficient) return false;
    if (compare_factors(terms_[i], other.terms_[i]) != 0) return false;
  }
  return true;
}

std::optional<std::int64_t> Dim::constant() const {
  if (!terms_.empty()) return std::nullopt;
  return constant_;
}

std::optional<Dim> Dim::exact_quotient(const Dim& divisor) const {
  if (*this == divisor) return Dim(1);
  if (const auto by = divisor.constant()) {
    if (*by == 0 || (*by == -1 && constant_ == kMinusInfinity) || constant_ % *by != 0) {
      return std::nullopt;
    }
    Dim quotient = *this;
    quotient.constant_ /= *by;
    for (Term& term : quotient.terms_) {
      if (term.coefficient == kMinusInfinity || term.coefficient % *by != 0) return std::nullopt;
      term.coefficient /= *by;
    }
    return quotient;
  }
  // Only a single monomial is divided by; a sum that equals the divisor was caught above.
  if (divisor.constant_ != 0 || divisor.terms_.size() != 1) return std::nullopt;
  if (constant_ != 0 || terms_.empty()) return std::nullopt;
  const Term& by = divisor.terms_.front();
  Dim quotient;
  for (const Term& term : terms_) {
    if (by.coefficient == 0 || term.coefficient % by.coefficient != 0) return std::nullopt;
    Term rest = term;
    rest.coefficient /= by.coefficient;
    for (const auto& factor : by.factors) {
      auto found = std::find_if(rest.factors.begin(), rest.factors.end(),
                                [&](const auto& have) { return have->text == factor->text; });
      if (found == rest.factors.end()) return std::nullopt;
      rest.factors.erase(found);
    }
    if (rest.factors.empty()) {
      quotient.constant_ = checked_add(quotient.constant_, rest.coefficient);
    } else {
      quotient.add_term(std::move(rest));
    }
  }
  return quotient;
}

namespace {

std::int64_t evaluate_atom(const Atom& atom, const SymbolValues& values) {
  if (atom.kind == Atom::Kind::kSymbol) {
    const auto found = values.find(atom.text);
    if (found == values.end()) {
      throw Error(ErrorKind::kInvalidArgument, "the symbolic size " + atom.text + " has no value");
    }
    return found->second;
  }
  const std::int64_t left = atom.operands[0].evaluate(values);
  const std::int64_t right = atom.operands[1].evaluate(values);
  switch (atom.kind) {
    case Atom::Kind::kFloorDiv:
      return floor_divide(left, right);
    case Atom::Kind::kMod:
      return floor_modulo(left, right);
    case Atom::Kind::kMin:
      return std::min(left, right);
    case Atom::Kind::kMax:
      return std::max(left, right);
    case Atom::Kind::kSymbol:
      break;
  }
  return 0;
}

Dim substitute_atom(const Atom& atom, const std::map<std::string, Dim>& replacements) {
  if (atom.kind == Atom::Kind::kSymbol) {
    const auto found = replacements.find(atom.text);
    return found == replacements.end() ? Dim::symbol(atom.text) : found->second;
  }
  const Dim left = atom.operands[0].substitute(replacements);
  const Dim right = atom.operands[1].substitute(replacements);
  switch (atom.kind) {
    case Atom::Kind::kFloorDiv:
      return Dim::floordiv(left, right);
    case Atom::Kind::kMod:
      return Dim::mod(left, right);
    case Atom::Kind::kMin:
      return Dim::min(left, right);
    default:
      return Dim::max(left, right);
  }
}

Range atom_range(const Atom& atom, const SymbolRanges& ranges) {
  if (atom.kind == Atom::Kind::kSymbol) {
    const auto found = ranges.find(atom.text);
    return found == ranges.end() ? Range{kMinusInfinity, kInfinity} : found->second;
  }
  const Range left = atom.operands[0].range(ranges);
  const Range right = atom.operands[1].range(ranges);
  switch (atom.kind) {
    case Atom::Kind::kFloorDiv:
      return floordiv_range(left, right);
    case Atom::Kind::kMod:
      return mod_range(right);
    case Atom::Kind::kMin:
      return {std::min(left.minimum, right.minimum), std::min(left.maximum, right.maximum)};
    default:
      return {std::max(left.minimum, right.minimum), std::max(left.maximum, right.maximum)};
  }
}

}  // namespace

std::int64_t Dim::evaluate(const SymbolValues& values) const {
  std::int64_t sum = constant_;
  for (const Term& term : terms_) {
    std::int64_t value = term.coefficient;
    for (const auto& factor : term.factors) {
      value = checked_multiply(value, evaluate_atom(*factor, values));
    }
    sum = checked_add(sum, value);
  }
  return sum;
}

Dim Dim::substitute(const std::map<std::string, Dim>& replacements) const {
  Dim sum(constant_);
  for (const Term& term : terms_) {
    Dim value(term.coefficient);
    for (const auto& factor : term.factors) value *= substitute_atom(*factor, replacements);
    sum += value;
  }
  return sum;
}

Range Dim::range(const SymbolRanges& ranges) const {
  Range sum{constant_, constant_};
  for (const Term& term : terms_) {
    Range value{term.coefficient, term.coefficient};
    for (const auto& factor : term.factors) {
      value = multiply_ranges(value, atom_range(*factor, ranges));
    }
    sum = add_ranges(sum, value);
  }
  return sum;
}

void Dim::collect_symbols(std::vector<std::string>& names) const {
  for (const Term& term : terms_) {
    for (const auto& factor : term.factors) {
      if (factor->kind == Atom::Kind::kSymbol) {
        if (std::find(names.begin(), names.end(), factor->text) == names.end()) {
          names.push_back(factor->text);
        }
        continue;
      }
      for (const Dim& operand : factor->operands) operand.collect_symbols(names);
    }
  }
}

std::string Dim::to_string() const {
  std::string text;
  for (const Term& term : terms_) {
    std::string factors;
    for (const auto& factor : term.factors) {
      factors += (factors.empty() ? "" : "*") + factor->text;
    }
    const bool negative = term.coefficient < 0;
    std::string magnitude = std::to_string(term.coefficient);
    if (negative) magnitude.erase(0, 1);
    if (!text.empty()) {
      text += negative ? " - " : " + ";
    } else if (negative) {
      text += "-";
    }
    text += magnitude == "1" ? factors : magnitude + "*" + factors;
  }
  if (text.empty()) return std::to_string(constant_);
  if (constant_ > 0) text += " + " + std::to_string(constant_);
  if (constant_ < 0) text += " - " + std::to_string(constant_).substr(1);
  return text;
}

Answer equal(const Dim& left, const Dim& right, const SymbolRanges& ranges) {
  const Range difference = (left - right).range(ranges);
  if (difference.minimum == 0 && difference.maximum == 0) return Answer::kYes;
  if (difference.minimum > 0 || difference.maximum < 0) return Answer::kNo;
  return Answer::kUnknown;
}

Answer less_equal(const Dim& left, const Dim& right, const SymbolRanges& ranges) {
  if (left.is_bound_of(Atom::Kind::kMin, right)) return Answer::kYes;
  if (right.is_bound_of(Atom::Kind::kMax, left)) return Answer::kYes;
  const Range difference = (left - right).range(ranges);
  if (difference.maximum <= 0) return Answer::kYes;
  if (difference.minimum > 0) return Answer::kNo;
  return Answer::kUnknown;
}

Dim product(const std::vector<Dim>& dims) {
  Dim result(1);
  for (const Dim& dim : dims) result *= dim;
  return result;
}

std::optional<std::vector<std::int64_t>> constants(const std::vector<Dim>& dims) {
  std::vector<std::int64_t> values;
  values.reserve(dims.size());
  for (const Dim& dim : dims) {
    const auto value = dim.constant();
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

}  // namespace unfuse
