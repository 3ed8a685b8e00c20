// What the names in a graph that is being written stand for.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "pt2/scope.h"

namespace unfuse::pt2 {

class WrittenNames {
 public:
  /// Where a size stands: dimension `dimension` of the tensor named `tensor`.
  struct Extent {
    std::string tensor;
    std::size_t dimension = 0;
  };

  void define(const std::string& name, const Meaning& meaning);
  /// A value of the graph that is a symbolic int is known by its number, too.
  void define_value(const std::string& name, Value* value);
  /// A name that is kept for what is written later, or that stands for nothing of ours.
  void reserve(const std::string& name) { reserved_.insert(name); }
  bool defined(const std::string& name) const { return scope_.find(name) != nullptr; }
  bool known(const std::string& name) const { return defined(name) || reserved_.contains(name); }
  /// `wanted`, or `wanted` with a number behind it.
  std::string unused(const std::string& wanted) const;

  /// Empty when the value has not been written.
  std::optional<std::string> name_of(const Value* value) const;
  std::optional<std::string> name_of(const Dim& size) const;
  std::optional<Extent> extent_of(const Dim& size) const;
  /// The sizes that extent_of() knows.
  const std::unordered_map<std::string, std::pair<Dim, Extent>>& extents() const {
    return extents_;
  }
  const Scope& scope() const { return scope_; }

 private:
  Scope scope_;
  std::unordered_map<const Value*, std::string> values_;
  std::unordered_map<std::string, std::string> numbers_;  // by Dim::to_string()
  std::unordered_map<std::string, std::pair<Dim, Extent>> extents_;
  std::unordered_set<std::string> reserved_;
};

}  // namespace unfuse::pt2
