#include "pt2/json_reading.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "ir/printable.h"
#include "pt2/failure.h"

namespace unfuse::pt2 {
namespace {

using Value = nlohmann::json;

constexpr int kDeepest = 200;

const Value& value_at(const void* pointer) { return *static_cast<const Value*>(pointer); }

// How deep brackets nest, those inside strings left out. The text need not be valid.
int nesting_depth(const std::string& text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char character = text[i];
    if (in_string) {
      if (character == '\\') ++i;
      if (character == '"') in_string = false;
      continue;
    }
    if (character == '"') in_string = true;
    if (character == '{' || character == '[') deepest = std::max(deepest, ++depth);
    if (character == '}' || character == ']') --depth;
  }
  return deepest;
}

// Finds `wanted` below `value` and writes the path to it; at most kDeepest calls deep.
bool find_path(const Value& value, const void* wanted, std::string& path) {
  if (&value == wanted) return true;
  const std::size_t length = path.size();
  if (value.is_object()) {
    for (const auto& [key, child] : value.items()) {
      path += (path.empty() ? "" : ".") + key;
      if (find_path(child, wanted, path)) return true;
      path.resize(length);
    }
  }
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      path += "[" + std::to_string(i) + "]";
      if (find_path(value[i], wanted, path)) return true;
      path.resize(length);
    }
  }
  return false;
}

}  // namespace

struct JsonDocument::Tree {
  Value root;
};

JsonDocument::JsonDocument(const std::string& text, std::string file, std::string member)
    : tree_(std::make_unique<Tree>()), file_(std::move(file)), member_(std::move(member)) {
  if (nesting_depth(text) > kDeepest) {
    pt2::fail(file_, "'" + member_ + "' is nested too deep");
  }
  try {
    tree_->root = Value::parse(text);
  } catch (const nlohmann::json::exception& error) {
    pt2::fail(file_, "'" + member_ + "' is not JSON: " + shortened(error.what(), 300));
  }
}

JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

Json JsonDocument::root() const { return {&tree_->root, this}; }

std::string JsonDocument::path_of(const void* value) const {
  std::string path;
  find_path(tree_->root, value, path);
  return path;
}

bool Json::is_null() const { return value_at(value_).is_null(); }
bool Json::is_object() const { return value_at(value_).is_object(); }
bool Json::is_array() const { return value_at(value_).is_array(); }
bool Json::is_string() const { return value_at(value_).is_string(); }
bool Json::is_number() const { return value_at(value_).is_number(); }
bool Json::is_integer() const { return value_at(value_).is_number_integer(); }

Json Json::at(std::string_view key) const {
  const Value& value = value_at(value_);
  if (!value.is_object()) fail_kind("an object");
  const auto found = value.find(key);
  if (found == value.end()) fail("'" + std::string(key) + "' is missing");
  return {&*found, document_};
}

std::optional<Json> Json::find(std::string_view key) const {
  const Value& value = value_at(value_);
  if (!value.is_object()) fail_kind("an object");
  const auto found = value.find(key);
  if (found == value.end() || found->is_null()) return std::nullopt;
  return Json{&*found, document_};
}

bool Json::has(std::string_view key) const {
  const Value& value = value_at(value_);
  return value.is_object() && value.find(key) != value.end();
}

std::vector<std::string> Json::keys() const {
  const Value& value = value_at(value_);
  if (!value.is_object()) fail_kind("an object");
  std::vector<std::string> keys;
  for (auto item = value.begin(); item != value.end(); ++item) keys.push_back(item.key());
  return keys;
}

std::string Json::only_key() const {
  const Value& value = value_at(value_);
  if (!value.is_object() || value.size() != 1) fail_kind("an object with one key");
  return value.begin().key();
}

std::size_t Json::size() const {
  const Value& value = value_at(value_);
  if (!value.is_array()) fail_kind("an array");
  return value.size();
}

Json Json::at(std::size_t index) const {
  if (index >= size()) fail("has no element " + std::to_string(index));
  return {&value_at(value_)[index], document_};
}

const std::string& Json::string() const {
  const Value& value = value_at(value_);
  if (!value.is_string()) fail_kind("a string");
  return value.get_ref<const std::string&>();
}

std::int64_t Json::integer() const {
  const Value& value = value_at(value_);
  if (!value.is_number_integer()) fail_kind("an integer");
  if (!value.is_number_unsigned()) return value.get<std::int64_t>();
  const auto number = value.get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    fail("the integer " + std::to_string(number) + " does not fit 64 bits");
  }
  return static_cast<std::int64_t>(number);
}

double Json::number() const {
  const Value& value = value_at(value_);
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  fail_kind("a number");
}

bool Json::boolean() const {
  const Value& value = value_at(value_);
  if (!value.is_boolean()) fail_kind("true or false");
  return value.get<bool>();
}

void Json::fail(const std::string& message, const std::string& hint) const {
  std::string path = document_->path_of(value_);
  if (path.empty()) path = "the top level";
  pt2::fail(document_->file(), "'" + document_->member() + "' at " + path + ": " + message, hint);
}

void Json::fail_kind(const char* expected) const {
  const Value& value = value_at(value_);
  const std::string found = value.is_object()
                                ? "an object of " + std::to_string(value.size()) + " keys"
                                : std::string("a value of type ") + value.type_name();
  fail(std::string("expected ") + expected + ", found " + found);
}

}  // namespace unfuse::pt2
