#include "pt2/symbolic_expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

constexpr int kDeepest = 64;
// Expanding a product of sums can take exponential room; sizes of real models stay far below.
constexpr std::int64_t kLargestPolynomial = 1 << 12;
constexpr std::int64_t kLargestPower = 64;
constexpr std::size_t kLongestText = 1 << 16;

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::kInvalidFile, "a symbolic expression " + message);
}

/// A call "Head(arguments)"; a literal or a bare name has no arguments. Keyword arguments, which
/// state assumptions about symbols, are dropped.
struct Call {
  std::string head;
  std::vector<Call> arguments;
  bool literal = false;  ///< a number or a quoted string
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Call parse() {
    Call call = expression(0);
    skip_spaces();
    if (position_ != text_.size()) fail_here();
    return call;
  }

 private:
  [[noreturn]] void fail_here() const {
    refuse("cannot be read at character " + std::to_string(position_) + ": \"" +
           std::string(text_.substr(0, 200)) + "\"");
  }

  void skip_spaces() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }

  char peek() {
    skip_spaces();
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++position_;
    return true;
  }

  template <typename Predicate>
  std::string take_while(Predicate predicate) {
    const std::size_t start = position_;
    while (position_ < text_.size() && predicate(text_[position_])) ++position_;
    return std::string(text_.substr(start, position_ - start));
  }

  static bool is_name_character(char character) {
    return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_';
  }

  Call quoted() {
    const char quote = text_[position_++];
    Call call{take_while([quote](char character) { return character != quote; }), {}, true};
    if (!take(quote)) fail_here();
    return call;
  }

  Call expression(int depth) {
    if (depth > kDeepest) refuse("is nested too deep");
    const char first = peek();
    if (first == '\'' || first == '"') return quoted();
    if (first == '-' || first == '+' || std::isdigit(static_cast<unsigned char>(first)) != 0) {
      return {take_while([](char character) {
                return is_name_character(character) || character == '-' || character == '+' ||
                       character == '.';
              }),
              {},
              true};
    }
    Call call;
    call.head = take_while(is_name_character);
    if (call.head.empty()) fail_here();
    if (!take('(')) return call;
    while (!take(')')) {
      if (!keyword()) call.arguments.push_back(expression(depth + 1));
      if (peek() != ')' && !take(',')) fail_here();
    }
    return call;
  }

  // Skips "positive=True", when that is what stands here.
  bool keyword() {
    skip_spaces();
    const std::size_t start = position_;
    const std::string name = take_while(is_name_character);
    if (name.empty() || !take('=')) {
      position_ = start;
      return false;
    }
    expression(kDeepest);
    return true;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

bool is_symbol(const Call& call) {
  return call.head == "Symbol" && call.arguments.size() == 1 && call.arguments[0].literal;
}

bool is_number_wrapper(const Call& call) {
  return (call.head == "Integer" || call.head == "Float") && call.arguments.size() == 1 &&
         call.arguments[0].literal;
}

std::string to_text(const Call& call) {
  if (is_symbol(call) || is_number_wrapper(call)) return call.arguments[0].head;
  if (call.arguments.empty()) return call.head;
  std::string text = call.head + "(";
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    text += (i == 0 ? "" : ", ") + to_text(call.arguments[i]);
  }
  return text + ")";
}

void collect_symbols(const Call& call, std::vector<std::string>& names) {
  if (is_symbol(call)) {
    const std::string& name = call.arguments[0].head;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    return;
  }
  for (const Call& argument : call.arguments) collect_symbols(argument, names);
}

/// A Dim with an upper bound on the length of its text, so that it is known before it is made
/// whether an expansion stays within bounds.
struct Bounded {
  Dim dim;
  std::int64_t terms = 1;
  std::int64_t term_length = 1;
};

/// Empty for what is no integer, as far as we can tell.
using Result = std::optional<Bounded>;

Bounded within_bounds(std::int64_t terms, std::int64_t term_length) {
  if (terms > kLargestPolynomial || term_length > kLargestPolynomial ||
      terms * term_length > kLargestPolynomial) {
    refuse("is too complicated");
  }
  return {Dim(), terms, term_length};
}

Bounded add(const Bounded& left, const Bounded& right) {
  Bounded sum =
      within_bounds(left.terms + right.terms, std::max(left.term_length, right.term_length));
  sum.dim = left.dim + right.dim;
  return sum;
}

Bounded multiply(const Bounded& left, const Bounded& right) {
  Bounded product = within_bounds(left.terms * right.terms, left.term_length + right.term_length);
  product.dim = left.dim * right.dim;
  return product;
}

Bounded symbol(const std::string& name) {
  Bounded made = within_bounds(1, static_cast<std::int64_t>(name.size()));
  made.dim = Dim::symbol(name);
  return made;
}

template <Dim (*make)(const Dim&, const Dim&)>
Bounded atom(const Bounded& left, const Bounded& right) {
  constexpr std::int64_t kCallLength = 16;
  Bounded made = within_bounds(
      1, left.terms * left.term_length + right.terms * right.term_length + kCallLength);
  made.dim = make(left.dim, right.dim);
  return made;
}

Bounded integer(const std::string& digits) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    refuse("holds \"" + digits + "\", which is no 64-bit integer");
  }
  return {Dim(value), 1, static_cast<std::int64_t>(digits.size())};
}

Result power(const Bounded& base, const Bounded& exponent) {
  const auto count = exponent.dim.constant();
  if (!count || *count < 0 || *count > kLargestPower) return std::nullopt;
  Bounded product{Dim(1), 1, 1};
  for (std::int64_t i = 0; i < *count; ++i) product = multiply(product, base);
  return product;
}

Bounded fold(const std::vector<Bounded>& operands,
             Bounded (*combine)(const Bounded&, const Bounded&)) {
  Bounded folded = operands.front();
  for (std::size_t i = 1; i < operands.size(); ++i) folded = combine(folded, operands[i]);
  return folded;
}

class Converter {
 public:
  explicit Converter(std::vector<std::string>& unknown) : unknown_(&unknown) {}

  Bounded convert(const Call& call) {
    if (Result known = integer_value(call)) return *known;
    return stand_in(call);
  }

 private:
  Bounded stand_in(const Call& call) {
    const std::string name = to_text(call);
    unknown_->push_back(name);
    return symbol(name);
  }

  Result integer_value(const Call& call) {
    if (call.literal || call.arguments.empty()) return std::nullopt;
    if (is_symbol(call)) return symbol(call.arguments[0].head);
    if (call.head == "Integer" && is_number_wrapper(call)) return integer(call.arguments[0].head);
    std::vector<Bounded> operands;
    for (const Call& argument : call.arguments) {
      Result operand = integer_value(argument);
      if (!operand && gives_integer(argument)) operand = stand_in(argument);
      if (!operand) return std::nullopt;
      operands.push_back(std::move(*operand));
    }
    return combine(call.head, operands);
  }

  // Integers whatever they are made from.
  static bool gives_integer(const Call& call) {
    return call.head == "TruncToInt" || call.head == "FloorToInt" || call.head == "CeilToInt" ||
           call.head == "RoundToInt";
  }

  static Result combine(const std::string& head, const std::vector<Bounded>& operands) {
    if (head == "Add") return fold(operands, add);
    if (head == "Mul") return fold(operands, multiply);
    if (head == "Max") return fold(operands, atom<Dim::max>);
    if (head == "Min") return fold(operands, atom<Dim::min>);
    if (head == "Identity" && operands.size() == 1) return operands[0];
    if (head == "ModularIndexing" && operands.size() == 3) {
      return atom<Dim::mod>(atom<Dim::floordiv>(operands[0], operands[1]), operands[2]);
    }
    if (operands.size() != 2) return std::nullopt;
    if (head == "Pow" || head == "PowByNatural") return power(operands[0], operands[1]);
    if (head == "FloorDiv" || head == "CleanDiv") {
      return atom<Dim::floordiv>(operands[0], operands[1]);
    }
    if (head == "Mod" || head == "PythonMod") return atom<Dim::mod>(operands[0], operands[1]);
    return std::nullopt;
  }

  std::vector<std::string>* unknown_;
};

}  // namespace

SymbolicExpression parse_symbolic_expression(std::string_view text) {
  if (text.size() > kLongestText) refuse("is too long");
  const Call call = Parser(text).parse();
  SymbolicExpression expression;
  collect_symbols(call, expression.symbols);
  try {
    expression.dim = Converter(expression.unknown).convert(call).dim;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInvalidFile) throw;
    refuse("is wrong: " + error.message() + ": " + to_text(call).substr(0, 200));
  }
  return expression;
}

}  // namespace unfuse::pt2
