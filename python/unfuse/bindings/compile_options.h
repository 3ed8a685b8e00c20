// Options of compiling, by the words that Python has checked.
#pragma once

#include <string_view>

#include "unfuse/program.h"

namespace unfuse::python {

inline FullyMaskedRows fully_masked_rows_named(std::string_view name) {
  return name == "zero" ? FullyMaskedRows::kZero : FullyMaskedRows::kOp;
}

inline Arithmetic arithmetic_named(std::string_view name) {
  if (name == "float32") return Arithmetic::kFloat32;
  return name == "bfloat16" ? Arithmetic::kBFloat16 : Arithmetic::kFastest;
}

inline CompileOptions compile_options(std::string_view fully_masked_rows,
                                      std::string_view arithmetic) {
  CompileOptions options;
  options.fully_masked_rows = fully_masked_rows_named(fully_masked_rows);
  options.arithmetic = arithmetic_named(arithmetic);
  return options;
}

}  // namespace unfuse::python
