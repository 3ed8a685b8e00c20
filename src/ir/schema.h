// Op schemas, in the syntax of PyTorch's native_functions.yaml.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/argument.h"

namespace unfuse {

enum class SchemaType {
  kTensor,
  kScalar,
  kInt,  ///< int and SymInt
  kFloat,
  kBool,
  kString,
  kDType,
  kLayout,
  kDevice,
  kMemoryFormat,
  kGenerator,
  kOther,
};

struct SchemaArgument {
  std::string name;
  SchemaType type = SchemaType::kOther;
  bool list = false;               ///< int[], Tensor[]
  int list_size = 0;               ///< 2 of int[2], which also takes one int for all; 0 if none
  bool optional = false;           ///< Tensor?, int[]?
  bool optional_elements = false;  ///< Tensor?[]
  bool keyword_only = false;
  bool has_default = false;
  Argument default_value;
  std::string alias_set;  ///< "a" of Tensor(a!); empty when it aliases nothing
  bool mutated = false;   ///< the ! of Tensor(a!)
};

struct SchemaReturn {
  SchemaType type = SchemaType::kTensor;
  bool list = false;
  std::string alias_set;
  bool mutated = false;
};

struct Schema {
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaReturn> returns;

  /// Index of an argument; -1 when there is none of this name.
  int index_of(std::string_view name) const;
  bool mutates() const;
  /// Some result shares storage with an argument by the schema's alias marks.
  bool aliases() const;
};

/// `argument` in the form that a node holds for this declaration: an int becomes a float or a list
/// where one is wanted. Empty when it does not fit. Where torch takes a number for a tensor, as in
/// aten.add.Tensor(x, 2), it stays a number, if `number_for_tensor`.
std::optional<Argument> conform_argument(const SchemaArgument& declared, const Argument& argument,
                                         bool number_for_tensor);

/// Parses "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"; what stands before
/// the parenthesis is ignored. Throws Error (kInternal) with the position of what it cannot read.
Schema parse_schema(std::string_view text);

}  // namespace unfuse
