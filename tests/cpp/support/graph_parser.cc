#include "support/graph_parser.h"

#include <cctype>
#include <charconv>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

#include "ir/builder.h"
#include "ops/catalogue.h"

namespace unfuse::testing {
namespace {

const std::map<std::string, DType, std::less<>>& short_dtypes() {
  static const std::map<std::string, DType, std::less<>> table = {
      {"f32", DType::kFloat32},   {"f64", DType::kFloat64}, {"f16", DType::kFloat16},
      {"bf16", DType::kBFloat16}, {"i64", DType::kInt64},   {"i32", DType::kInt32},
      {"i16", DType::kInt16},     {"i8", DType::kInt8},     {"u8", DType::kUInt8},
      {"b8", DType::kBool},
  };
  return table;
}

const std::map<std::string, MemoryFormat, std::less<>>& memory_formats() {
  static const std::map<std::string, MemoryFormat, std::less<>> table = {
      {"contiguous_format", MemoryFormat::kContiguous},
      {"preserve_format", MemoryFormat::kPreserve},
      {"channels_last", MemoryFormat::kChannelsLast},
      {"channels_last_3d", MemoryFormat::kChannelsLast3d},
  };
  return table;
}

class LineParser {
 public:
  LineParser(std::string_view line, int number, Graph& graph,
             std::map<std::string, Value*, std::less<>>& values)
      : line_(line), number_(number), graph_(graph), values_(values) {}

  void parse() {
    if (accept_word("symbol")) return symbol();
    if (accept_word("input")) return input();
    if (accept_word("output")) return output();
    node();
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw std::runtime_error("line " + std::to_string(number_) + ", column " +
                             std::to_string(at_ + 1) + ": " + message + "\n  " +
                             std::string(line_));
  }

  // --- Characters and words
  void skip_spaces() {
    while (at_ < line_.size() && std::isspace(static_cast<unsigned char>(line_[at_])) != 0) ++at_;
  }
  bool peek(std::string_view text) {
    skip_spaces();
    return line_.substr(at_).starts_with(text);
  }
  bool accept(std::string_view text) {
    if (!peek(text)) return false;
    at_ += text.size();
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text)) fail("expected '" + std::string(text) + "'");
  }
  static bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  }
  std::string peek_word() {
    skip_spaces();
    std::size_t end = at_;
    while (end < line_.size() && in_word(line_[end])) ++end;
    return std::string(line_.substr(at_, end - at_));
  }
  std::string word() {
    std::string text = peek_word();
    if (text.empty()) fail("expected a word");
    at_ += text.size();
    return text;
  }
  bool accept_word(std::string_view text) {
    if (peek_word() != text) return false;
    at_ += text.size();
    return true;
  }

  // --- Sizes
  std::int64_t integer() {
    const bool negative = accept("-");
    if (accept_word("inf")) return std::numeric_limits<std::int64_t>::max();
    const std::int64_t magnitude = std::stoll(word());
    return negative ? -magnitude : magnitude;
  }
  Dim dim_sum() {
    Dim sum = dim_product();
    for (;;) {
      if (accept("+")) {
        sum += dim_product();
      } else if (accept("-")) {
        sum = sum - dim_product();
      } else {
        return sum;
      }
    }
  }
  Dim dim_product() {
    Dim product = dim_factor();
    while (accept("*")) product *= dim_factor();
    return product;
  }
  Dim dim_factor() {
    if (accept("-")) return -dim_factor();
    if (accept("(")) {
      Dim inner = dim_sum();
      expect(")");
      return inner;
    }
    const std::string name = word();
    if (std::isdigit(static_cast<unsigned char>(name[0])) != 0) return Dim(std::stoll(name));
    if (!accept("(")) return Dim::symbol(name);
    const Dim left = dim_sum();
    expect(",");
    const Dim right = dim_sum();
    expect(")");
    if (name == "floordiv") return Dim::floordiv(left, right);
    if (name == "mod") return Dim::mod(left, right);
    if (name == "min") return Dim::min(left, right);
    if (name == "max") return Dim::max(left, right);
    fail("no size operation is called " + name);
  }
  std::vector<Dim> dims() {
    std::vector<Dim> list;
    expect("[");
    while (!accept("]")) {
      list.push_back(dim_sum());
      if (!peek("]")) expect(",");
    }
    return list;
  }

  // --- Types
  Type type() {
    const std::string name = word();
    if (name == "None") return NoneType{};
    if (name == "int") {
      expect("(");
      IntType symbolic{dim_sum()};
      expect(")");
      return symbolic;
    }
    const auto known = short_dtypes().find(name);
    const auto dtype =
        known != short_dtypes().end() ? std::optional(known->second) : dtype_from_name(name);
    if (!dtype) fail("no type is called " + name);
    TensorType tensor = TensorType::contiguous(*dtype, dims());
    if (accept_word("strides")) tensor.strides = dims();
    if (accept_word("offset")) tensor.storage_offset = dim_sum();
    if (accept_word("on")) tensor.device = word();
    return tensor;
  }

  // --- Arguments
  Value* value() {
    expect("%");
    const std::string name = word();
    const auto found = values_.find(name);
    if (found == values_.end()) fail("%" + name + " is not defined");
    return found->second;
  }
  std::string quoted() {
    expect("\"");
    std::string text;
    while (at_ < line_.size() && line_[at_] != '"') text += line_[at_++];
    expect("\"");
    return text;
  }
  bool at_float() {
    skip_spaces();
    std::size_t end = at_;
    if (end < line_.size() && line_[end] == '-') ++end;
    const std::string_view rest = line_.substr(end);
    if (rest.starts_with("inf") || rest.starts_with("nan")) return true;
    if (rest.empty() || std::isdigit(static_cast<unsigned char>(rest[0])) == 0) return false;
    std::size_t length = 0;
    while (length < rest.size() && in_word(rest[length])) ++length;
    return rest.substr(0, length).find_first_of(".e") != std::string_view::npos;
  }
  double floating() {
    const bool negative = accept("-");
    std::string text = word();
    const bool signed_exponent = text.back() == 'e' && (peek("-") || peek("+"));
    if (signed_exponent) {
      text += line_[at_++];
      text += word();
    }
    const double magnitude = std::stod(text);
    return negative ? -magnitude : magnitude;
  }
  Argument list() {
    expect("[");
    Argument::Tensors tensors;
    Argument::Ints ints;
    Argument::Floats floats;
    Argument::Bools bools;
    Argument::Strings strings;
    while (!accept("]")) {
      if (peek("%")) {
        tensors.push_back(value());
      } else if (accept_word("None")) {
        tensors.push_back(nullptr);
      } else if (peek("\"")) {
        strings.push_back(quoted());
      } else if (at_float()) {
        floats.push_back(floating());
      } else if (peek_word() == "True" || peek_word() == "False") {
        bools.push_back(word() == "True");
      } else {
        ints.push_back(dim_sum());
      }
      if (!peek("]")) expect(",");
    }
    if (!tensors.empty()) return tensors;
    if (!strings.empty()) return strings;
    if (!floats.empty()) return floats;
    if (!bools.empty()) return bools;
    return ints;
  }
  Argument argument() {
    if (peek("%")) return value();
    if (peek("[")) return list();
    if (peek("\"")) return quoted();
    if (at_float()) return floating();
    const std::string name = peek_word();
    if (name == "None" || name == "True" || name == "False") {
      word();
      return name == "None" ? Argument() : Argument(name == "True");
    }
    if (name == "strided") {
      word();
      return Layout::kStrided;
    }
    if (name == "device") {
      word();
      expect("(");
      Device device{quoted()};
      expect(")");
      return device;
    }
    if (const auto dtype = dtype_from_name(name)) {
      word();
      return *dtype;
    }
    if (const auto format = memory_formats().find(name); format != memory_formats().end()) {
      word();
      return format->second;
    }
    return dim_sum();
  }

  // --- Statements
  void symbol() {
    const std::string name = word();
    expect("in");
    expect("[");
    const std::int64_t minimum = integer();
    expect(",");
    const std::int64_t maximum = integer();
    expect("]");
    graph_.symbols[name] = {minimum, maximum};
  }

  void input() {
    static const std::map<std::string, InputKind, std::less<>> kinds = {
        {"user", InputKind::kUser},       {"parameter", InputKind::kParameter},
        {"buffer", InputKind::kBuffer},   {"constant", InputKind::kConstant},
        {"literal", InputKind::kLiteral},
    };
    const auto kind = kinds.find(word());
    if (kind == kinds.end()) fail("no such kind of input");
    if (kind->second == InputKind::kLiteral) {
      const std::string name = word();
      expect("=");
      graph_.add_literal_input(name, argument());
      return;
    }
    expect("%");
    const std::string name = word();
    expect(":");
    const Type of = type();
    GraphInput made;
    made.kind = kind->second;
    made.target = accept_word("from") ? word() : name;
    define(name, graph_.add_input(name, of, std::move(made)));
  }

  void output() {
    GraphOutput made;
    if (accept_word("buffer")) made.kind = OutputKind::kBufferMutation;
    if (accept_word("input")) made.kind = OutputKind::kUserInputMutation;
    if (accept_word("parameter")) made.kind = OutputKind::kParameterMutation;
    if (!accept_word("user")) expect("mutation");
    made.value = argument();
    if (accept_word("to")) made.target = word();
    graph_.add_output(std::move(made));
  }

  void define(const std::string& name, Value* made) {
    if (!values_.emplace(name, made).second) fail("%" + name + " is defined twice");
    graph_.rename(made, name);
  }

  void node() {
    std::vector<std::string> names;
    std::vector<Type> types;
    while (peek("%")) {
      expect("%");
      names.push_back(word());
      if (accept(":")) types.push_back(type());
      if (!accept(",")) break;
    }
    if (!names.empty()) expect("=");
    const std::string op_name = word();
    Arguments positional;
    std::vector<KeywordArgument> keywords;
    read_arguments(positional, keywords);
    const Op* known = ops::find(op_name);
    const Op& op = known != nullptr ? *known : opaque(op_name, positional.size(), names.size());
    Node* made = make(op, std::move(positional), keywords, std::move(types));
    if (made->results().size() != names.size()) {
      fail(op_name + " has " + std::to_string(made->results().size()) + " results");
    }
    for (std::size_t i = 0; i < names.size(); ++i) define(names[i], made->results()[i]);
  }

  void read_arguments(Arguments& positional, std::vector<KeywordArgument>& keywords) {
    expect("(");
    while (!accept(")")) {
      const std::size_t start = at_;
      const std::string name = peek_word();
      if (!name.empty()) word();
      if (!name.empty() && accept("=")) {
        keywords.push_back({name, argument()});
      } else {
        at_ = start;
        positional.push_back(argument());
      }
      if (!peek(")")) expect(",");
    }
  }

  Node* make(const Op& op, Arguments positional, const std::vector<KeywordArgument>& keywords,
             std::vector<Type> types) {
    if (types.empty() && !op.opaque()) {
      Builder builder(graph_, nullptr);
      if (op.result_types == nullptr && !op.schema.returns.empty()) {
        fail(op.name + " has no result-type rule: give the types");
      }
      if (op.result_types != nullptr) return builder.node(op, std::move(positional), keywords);
    }
    Arguments arguments = complete_arguments(op, std::move(positional), keywords);
    conform_arguments(op, arguments);
    return graph_.create_node(op, std::move(arguments), std::move(types));
  }

  const Op& opaque(const std::string& name, std::size_t arguments, std::size_t results) {
    Schema schema;
    for (std::size_t i = 0; i < arguments; ++i) {
      SchemaArgument declared;
      declared.name = "argument" + std::to_string(i);
      schema.arguments.push_back(std::move(declared));
    }
    schema.returns.resize(results);
    return graph_.opaque_op(name, schema);
  }

  std::string_view line_;
  int number_;
  Graph& graph_;
  std::map<std::string, Value*, std::less<>>& values_;
  std::size_t at_ = 0;
};

}  // namespace

Graph parse_graph(std::string_view text) {
  Graph graph;
  std::map<std::string, Value*, std::less<>> values;
  int number = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    ++number;
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    LineParser(line, number, graph, values).parse();
  }
  return graph;
}

}  // namespace unfuse::testing
