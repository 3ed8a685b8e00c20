// The catalogue: every op that unfuse knows.
#pragma once

#include <span>
#include <string_view>

#include "ir/op.h"

namespace unfuse::ops {

/// A row of a family's table. `schema` is in native_functions syntax, without the name.
struct OpInfo {
  const char* name;    ///< "aten.add.Tensor"
  const char* schema;  ///< "(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
  Traits traits = {};
  ResultTypeRule result_types = nullptr;
};

/// All ops; an op's id is its index. Schemas are parsed at the first call, once.
std::span<const Op> catalogue();

/// Null when there is no such op.
const Op* find(std::string_view name);

/// Throws Error (kInternal) when there is no such op: for names written in our own code.
const Op& get(std::string_view name);

}  // namespace unfuse::ops
