#include "ir/argument.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "ir/graph.h"
#include "unfuse/error.h"

namespace unfuse {
namespace {

bool same_bits(double left, double right) {
  return std::bit_cast<std::uint64_t>(left) == std::bit_cast<std::uint64_t>(right);
}

[[noreturn]] void wrong_kind(const Argument& argument, const char* wanted) {
  throw Error(ErrorKind::kInternal,
              "an argument holds " + argument.to_string() + " where " + wanted + " is wanted");
}

// Quoted, with control characters escaped, so that a name from a file cannot garble a terminal.
std::string quote(const std::string& text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += "\\x";
      quoted += kHex[byte >> 4];
      quoted += kHex[byte & 15];
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

// Shortest text that reads back as the same double, always marked as a float.
std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

template <typename List, typename Write>
std::string list_text(const List& list, Write write) {
  std::string text = "[";
  bool first = true;
  for (const auto& element : list) {
    if (!first) text += ", ";
    first = false;
    text += write(element);
  }
  return text + "]";
}

std::string value_text(const Value* value) {
  return value == nullptr ? "None" : "%" + value->name();
}

struct Writer {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(const Value* value) const { return value_text(value); }
  std::string operator()(const Argument::Tensors& list) const {
    return list_text(list, value_text);
  }
  std::string operator()(const Dim& dim) const { return dim.to_string(); }
  std::string operator()(const Argument::Ints& list) const {
    return list_text(list, [](const Dim& dim) { return dim.to_string(); });
  }
  std::string operator()(double value) const { return float_text(value); }
  std::string operator()(const Argument::Floats& list) const { return list_text(list, float_text); }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(const Argument::Bools& list) const {
    return list_text(list, [](bool value) { return value ? "True" : "False"; });
  }
  std::string operator()(const std::string& text) const { return quote(text); }
  std::string operator()(const Argument::Strings& list) const { return list_text(list, quote); }
  std::string operator()(DType dtype) const { return std::string(dtype_name(dtype)); }
  std::string operator()(const Device& device) const {
    return "device(" + quote(device.text) + ")";
  }
  std::string operator()(MemoryFormat format) const {
    return std::string(memory_format_name(format));
  }
  std::string operator()(Layout layout) const {
    return layout == Layout::kStrided ? "strided" : "sparse";
  }
};

}  // namespace

std::string_view memory_format_name(MemoryFormat format) {
  switch (format) {
    case MemoryFormat::kContiguous:
      return "contiguous_format";
    case MemoryFormat::kPreserve:
      return "preserve_format";
    case MemoryFormat::kChannelsLast:
      return "channels_last";
    case MemoryFormat::kChannelsLast3d:
      return "channels_last_3d";
  }
  return "unknown";
}

bool Argument::operator==(const Argument& other) const {
  if (const auto* left = get_if<double>()) {
    const auto* right = other.get_if<double>();
    return right != nullptr && same_bits(*left, *right);
  }
  if (const auto* left = get_if<Floats>()) {
    const auto* right = other.get_if<Floats>();
    return right != nullptr &&
           std::equal(left->begin(), left->end(), right->begin(), right->end(), same_bits);
  }
  return held_ == other.held_;
}

Argument Argument::ints(const std::vector<std::int64_t>& values) {
  return Ints(values.begin(), values.end());
}

Value* Argument::value() const {
  if (const auto* held = get_if<Value*>()) return *held;
  wrong_kind(*this, "a value");
}

Value* Argument::value_or_null() const { return is_none() ? nullptr : value(); }

const Argument::Tensors& Argument::tensors() const {
  if (const auto* held = get_if<Tensors>()) return *held;
  wrong_kind(*this, "a list of tensors");
}

const Dim& Argument::dim() const {
  if (const auto* held = get_if<Dim>()) return *held;
  wrong_kind(*this, "an int");
}

std::int64_t Argument::integer() const {
  if (const auto* held = get_if<bool>()) return *held ? 1 : 0;
  if (const auto value = dim().constant()) return *value;
  wrong_kind(*this, "a constant int");
}

const Argument::Ints& Argument::dims() const {
  if (const auto* held = get_if<Ints>()) return *held;
  wrong_kind(*this, "a list of ints");
}

std::vector<std::int64_t> Argument::integers() const {
  if (auto values = constants(dims())) return *values;
  wrong_kind(*this, "a list of constant ints");
}

double Argument::number() const {
  if (const auto* held = get_if<double>()) return *held;
  return static_cast<double>(integer());
}

bool Argument::boolean() const {
  if (const auto* held = get_if<bool>()) return *held;
  wrong_kind(*this, "a bool");
}

const std::string& Argument::string() const {
  if (const auto* held = get_if<std::string>()) return *held;
  wrong_kind(*this, "a string");
}

DType Argument::dtype() const {
  if (const auto* held = get_if<DType>()) return *held;
  wrong_kind(*this, "a dtype");
}

bool Argument::is_constant_scalar() const {
  if (holds<double>() || holds<bool>()) return true;
  const auto* integer = get_if<Dim>();
  return integer != nullptr && integer->is_constant();
}

void Argument::collect_values(std::vector<Value*>& values) const {
  if (const auto* held = get_if<Value*>()) values.push_back(*held);
  if (const auto* held = get_if<Tensors>()) {
    for (Value* value : *held) {
      if (value != nullptr) values.push_back(value);
    }
  }
}

void Argument::replace_value(Value* from, Value* to) {
  if (auto* held = std::get_if<Value*>(&held_); held != nullptr && *held == from) *held = to;
  if (auto* held = std::get_if<Tensors>(&held_)) {
    for (Value*& value : *held) {
      if (value == from) value = to;
    }
  }
}

std::string Argument::to_string() const { return std::visit(Writer{}, held_); }

}  // namespace unfuse
