// Number arguments of nodes as the kernels take them.
#pragma once

#include "targets/cpu/kernels/fill.h"
#include "targets/cpu/lowering/context.h"

namespace unfuse::cpu {

/// A number argument, a symbolic int evaluated.
inline Scalar scalar(const Argument& argument, const LoweringContext& context) {
  if (const auto* dim = argument.get_if<Dim>()) return Scalar::integer(context.evaluate(*dim));
  if (const auto* flag = argument.get_if<bool>()) return Scalar::integer(*flag ? 1 : 0);
  return Scalar::floating(argument.number());
}

}  // namespace unfuse::cpu
