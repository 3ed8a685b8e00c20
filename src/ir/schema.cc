#include "ir/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "unfuse/error.h"

namespace unfuse {
namespace {

struct TypeName {
  std::string_view text;
  SchemaType type;
};

constexpr std::array kTypeNames = {
    TypeName{"Tensor", SchemaType::kTensor},
    TypeName{"Scalar", SchemaType::kScalar},
    TypeName{"int", SchemaType::kInt},
    TypeName{"SymInt", SchemaType::kInt},
    TypeName{"float", SchemaType::kFloat},
    TypeName{"bool", SchemaType::kBool},
    TypeName{"str", SchemaType::kString},
    TypeName{"ScalarType", SchemaType::kDType},
    TypeName{"Layout", SchemaType::kLayout},
    TypeName{"Device", SchemaType::kDevice},
    TypeName{"MemoryFormat", SchemaType::kMemoryFormat},
    TypeName{"Generator", SchemaType::kGenerator},
};

struct MemoryFormatName {
  std::string_view text;
  MemoryFormat format;
};

// Schemas that torch prints write the enum's number, native_functions.yaml its name.
constexpr std::array kMemoryFormatNames = {
    MemoryFormatName{"0", MemoryFormat::kContiguous},
    MemoryFormatName{"contiguous_format", MemoryFormat::kContiguous},
    MemoryFormatName{"1", MemoryFormat::kPreserve},
    MemoryFormatName{"preserve_format", MemoryFormat::kPreserve},
    MemoryFormatName{"2", MemoryFormat::kChannelsLast},
    MemoryFormatName{"channels_last", MemoryFormat::kChannelsLast},
    MemoryFormatName{"3", MemoryFormat::kChannelsLast3d},
    MemoryFormatName{"channels_last_3d", MemoryFormat::kChannelsLast3d},
};

/// native_functions.yaml writes C++ names in defaults, torch prints the enum's number.
std::string_view dtype_word(std::string_view word) {
  if (word == "long" || word == "4") return "int64";
  if (word == "float" || word == "6") return "float32";
  return word;
}

/// What stands between a type's name and the argument's.
struct ParsedType {
  SchemaType type = SchemaType::kOther;
  bool list = false;
  int list_size = 0;
  bool optional = false;
  bool optional_elements = false;
  std::string alias_set;
  bool mutated = false;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Schema parse() {
    position_ = std::min(text_.find('('), text_.size());
    Schema schema;
    parse_arguments(schema);
    expect("->");
    parse_returns(schema);
    skip_spaces();
    if (position_ != text_.size()) fail("the end");
    return schema;
  }

 private:
  [[noreturn]] void fail(std::string_view wanted) const {
    throw Error(ErrorKind::kInternal,
                fmt::format("schema \"{}\": expected {} at position {}", text_, wanted, position_));
  }

  void skip_spaces() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }

  bool accept(std::string_view token) {
    skip_spaces();
    if (!text_.substr(position_).starts_with(token)) return false;
    position_ += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("\"{}\"", token));
  }

  std::string_view identifier() {
    skip_spaces();
    const std::size_t start = position_;
    while (position_ < text_.size() && is_identifier(text_[position_])) ++position_;
    if (position_ == start) fail("a name");
    return text_.substr(start, position_ - start);
  }

  static bool is_identifier(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  }

  void parse_arguments(Schema& schema) {
    expect("(");
    if (accept(")")) return;
    bool keyword_only = false;
    do {
      if (accept("*")) {
        keyword_only = true;
        continue;
      }
      schema.arguments.push_back(parse_argument(keyword_only));
    } while (accept(","));
    expect(")");
  }

  SchemaArgument parse_argument(bool keyword_only) {
    ParsedType type = parse_type();
    SchemaArgument argument;
    argument.type = type.type;
    argument.list = type.list;
    argument.list_size = type.list_size;
    argument.optional = type.optional;
    argument.optional_elements = type.optional_elements;
    argument.alias_set = std::move(type.alias_set);
    argument.mutated = type.mutated;
    argument.keyword_only = keyword_only;
    argument.name = identifier();
    if (accept("=")) {
      argument.has_default = true;
      argument.default_value = parse_default(argument);
    }
    return argument;
  }

  void parse_returns(Schema& schema) {
    if (!accept("(")) {
      schema.returns.push_back(parse_return());
      return;
    }
    if (accept(")")) return;
    do {
      schema.returns.push_back(parse_return());
      skip_spaces();
      if (position_ < text_.size() && is_identifier(text_[position_])) identifier();
    } while (accept(","));
    expect(")");
  }

  SchemaReturn parse_return() {
    ParsedType type = parse_type();
    return SchemaReturn{type.type, type.list, std::move(type.alias_set), type.mutated};
  }

  ParsedType parse_type() {
    const std::string_view name = identifier();
    ParsedType parsed;
    const auto* known = std::find_if(kTypeNames.begin(), kTypeNames.end(),
                                     [&](const TypeName& entry) { return entry.text == name; });
    if (known != kTypeNames.end()) parsed.type = known->type;
    if (accept("(")) parse_alias(parsed);
    if (accept("?")) parsed.optional = true;
    if (!accept("[")) return parsed;
    parsed.list = true;
    parsed.optional_elements = std::exchange(parsed.optional, false);
    if (!accept("]")) {
      parsed.list_size = static_cast<int>(integer(identifier()));
      expect("]");
    }
    if (accept("?")) parsed.optional = true;
    return parsed;
  }

  // "a", "a!", "a -> *", "a|b": only the first set matters to us.
  void parse_alias(ParsedType& parsed) {
    parsed.alias_set = identifier();
    while (!accept(")")) {
      skip_spaces();
      if (position_ == text_.size()) fail("\")\"");
      if (text_[position_] == '!') parsed.mutated = true;
      ++position_;
    }
  }

  Argument parse_default(const SchemaArgument& argument) {
    if (accept("None")) return nullptr;
    if (argument.list) return parse_default_list(argument);
    return parse_default_scalar(argument);
  }

  Argument parse_default_list(const SchemaArgument& argument) {
    std::vector<Argument> elements;
    if (!accept("[")) {
      // "int[2] padding=0"
      elements.assign(static_cast<std::size_t>(std::max(argument.list_size, 1)),
                      parse_default_scalar(argument));
    } else if (!accept("]")) {
      do {
        elements.push_back(parse_default_scalar(argument));
      } while (accept(","));
      expect("]");
    }
    return list_argument(argument.type, elements);
  }

  Argument list_argument(SchemaType type, const std::vector<Argument>& elements) {
    switch (type) {
      case SchemaType::kInt: {
        Argument::Ints ints;
        for (const Argument& element : elements) ints.push_back(element.dim());
        return ints;
      }
      case SchemaType::kFloat: {
        Argument::Floats floats;
        for (const Argument& element : elements) floats.push_back(element.number());
        return floats;
      }
      case SchemaType::kBool: {
        Argument::Bools bools;
        for (const Argument& element : elements) bools.push_back(element.boolean());
        return bools;
      }
      default:
        fail("a list of ints, floats or bools as default");
    }
  }

  Argument parse_default_scalar(const SchemaArgument& argument) {
    skip_spaces();
    if (argument.type == SchemaType::kString) return quoted();
    if (accept("True")) return true;
    if (accept("False")) return false;
    const std::size_t start = position_;
    while (position_ < text_.size() && (is_identifier(text_[position_]) || is_sign(position_))) {
      ++position_;
    }
    const std::string_view word = text_.substr(start, position_ - start);
    switch (argument.type) {
      case SchemaType::kMemoryFormat:
        return memory_format(word);
      case SchemaType::kDType: {
        const std::optional<DType> dtype = dtype_from_name(dtype_word(word));
        if (!dtype) fail("a dtype");
        return *dtype;
      }
      case SchemaType::kInt:
        return Dim(integer(word));
      case SchemaType::kFloat:
        return number(word);
      case SchemaType::kScalar:
        if (word.find_first_of(".einf") != std::string_view::npos) return number(word);
        return Dim(integer(word));
      default:
        fail("no default of this type");
    }
  }

  bool is_sign(std::size_t position) const {
    return text_[position] == '-' || text_[position] == '+';
  }

  std::string quoted() {
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    if (quote != '"' && quote != '\'') fail("a string");
    const std::size_t start = position_ + 1;
    const std::size_t end = text_.find(quote, start);
    if (end == std::string_view::npos) fail("a closed string");
    position_ = end + 1;
    return std::string(text_.substr(start, end - start));
  }

  MemoryFormat memory_format(std::string_view word) const {
    for (const MemoryFormatName& entry : kMemoryFormatNames) {
      if (entry.text == word) return entry.format;
    }
    fail("a memory format");
  }

  std::int64_t integer(std::string_view word) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) fail("an int");
    return value;
  }

  double number(std::string_view word) const {
    if (word == "inf") return std::numeric_limits<double>::infinity();
    if (word == "-inf") return -std::numeric_limits<double>::infinity();
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) fail("a number");
    return value;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

int Schema::index_of(std::string_view name) const {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

bool Schema::mutates() const {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const SchemaArgument& argument) { return argument.mutated; });
}

bool Schema::aliases() const {
  return std::any_of(returns.begin(), returns.end(),
                     [](const SchemaReturn& result) { return !result.alias_set.empty(); });
}

Schema parse_schema(std::string_view text) { return Parser(text).parse(); }

}  // namespace unfuse
