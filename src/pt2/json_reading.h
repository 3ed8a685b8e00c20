// Typed access to a JSON document, with errors that name the place.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/failure.h"

namespace unfuse::pt2 {

class JsonDocument;

/// A value in a JsonDocument, which must outlive it. Cheap to copy. Accessors throw Error
/// (kInvalidFile) that names the file, the member and the value's path in it.
class Json {
 public:
  bool is_null() const;
  bool is_object() const;
  bool is_array() const;
  bool is_string() const;
  bool is_number() const;
  bool is_integer() const;

  /// --- Objects
  /// The value of a key that must be there.
  Json at(std::string_view key) const;
  /// Empty when there is no such key, or when its value is null.
  std::optional<Json> find(std::string_view key) const;
  bool has(std::string_view key) const;
  std::vector<std::string> keys() const;
  /// The only key of an object: how the export schema writes unions.
  std::string only_key() const;

  /// --- Arrays
  std::size_t size() const;
  Json at(std::size_t index) const;

  /// --- Scalars
  const std::string& string() const;
  std::int64_t integer() const;
  /// A number, or one of the strings "Infinity", "-Infinity" and "NaN".
  double number() const;
  bool boolean() const;

  /// Throws Error (kInvalidFile) about this value.
  [[noreturn]] void fail(const std::string& message, const std::string& hint = kDamagedHint) const;
  const JsonDocument& document() const { return *document_; }

 private:
  friend class JsonDocument;
  Json(const void* value, const JsonDocument* document) : value_(value), document_(document) {}
  [[noreturn]] void fail_kind(const char* expected) const;

  const void* value_;
  const JsonDocument* document_;
};

/// A parsed document.
class JsonDocument {
 public:
  /// `text` is the member `member` of the file `file`; both are for messages. Throws Error
  /// (kInvalidFile) when it is not JSON, or is nested deeper than 200 levels.
  JsonDocument(const std::string& text, std::string file, std::string member);
  JsonDocument(JsonDocument&&) noexcept;
  ~JsonDocument();

  Json root() const;
  const std::string& file() const { return file_; }
  const std::string& member() const { return member_; }

 private:
  friend class Json;
  /// "graph_module.graph.nodes[3].target". Searches for the value: called on errors alone.
  std::string path_of(const void* value) const;

  struct Tree;
  std::unique_ptr<Tree> tree_;
  std::string file_;
  std::string member_;
};

}  // namespace unfuse::pt2
