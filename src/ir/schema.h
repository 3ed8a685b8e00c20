// Op schemas, in the syntax of PyTorch's native_functions.yaml.
#pragma once

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
  bool list = false;               ///< int[], Tensor[]; int[2] also takes one int for all
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

/// Whether an argument of this declaration may hold `argument`, after conform_arguments().
bool argument_fits(const SchemaArgument& declared, const Argument& argument);

/// Parses "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"; what stands before
/// the parenthesis is ignored. Throws Error (kInternal) with the position of what it cannot read.
Schema parse_schema(std::string_view text);

}  // namespace unfuse
