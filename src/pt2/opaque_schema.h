// Schemas for ops that the catalogue lacks, made from what a call recorded.
#pragma once

#include <string>

#include "ir/argument.h"
#include "ir/schema.h"
#include "ir/type.h"

namespace unfuse::pt2 {

class OpaqueSchema {
 public:
  /// `name` may be empty (higher-order ops have no names): "argument_0" then. Every argument is
  /// optional, since nobody can know.
  void add_argument(const std::string& name, bool keyword_only, const Argument& argument);
  void add_return(const Type& type);

  const Schema& schema() const { return schema_; }

 private:
  Schema schema_;
};

}  // namespace unfuse::pt2
