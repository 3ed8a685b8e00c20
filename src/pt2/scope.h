// What the names in a program's graph stand for.
#pragma once

#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "ir/graph.h"
#include "pt2/json_reading.h"

namespace unfuse::pt2 {

/// A value of our graph, or a scalar that is known: a symbolic int as a Dim, a float, a bool.
using Meaning = std::variant<Value*, Dim, double, bool>;

class Scope {
 public:
  /// `name` is a string of the file; fails there when it has a meaning already.
  void define(const Json& name, Meaning meaning);
  /// The same for a name that is known to be new.
  void define(const std::string& name, Meaning meaning) { meanings_[name] = std::move(meaning); }
  /// Fails at `name` when nothing of that name was defined so far.
  const Meaning& at(const Json& name) const;
  /// Null when there is no such name.
  const Meaning* find(const std::string& name) const;
  /// Fails at `name` unless it stands for a value of the graph.
  Value* value(const Json& name) const;

 private:
  std::unordered_map<std::string, Meaning> meanings_;
};

/// An argument of the file as ours. What ours cannot hold (subgraphs, custom objects, nested lists,
/// dicts, complex numbers) is given as the list of the values in it, or else as its text.
struct ImportedArgument {
  Argument argument;
  bool exact = true;  ///< false when ours cannot hold it
};

ImportedArgument read_argument(const Json& argument, const Scope& scope);

/// None, an int, a float, a bool or a string; fails on anything else.
Argument read_literal(const Json& literal);

}  // namespace unfuse::pt2
