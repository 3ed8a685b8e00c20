// Convolution in float32, over one or two spatial dims.
#pragma once

#include <cstdint>

#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

/// Packs [O, C / groups, KH, KW] or [O, C / groups, K] of float32, float16 or bfloat16, any
/// strides; 16-bit weights are widened.
PackedPtr pack_conv_weight(const OperandSpec& weight, const void* data, std::int64_t groups,
                           int threads);

/// Cross-correlation, as aten.convolution without transposition.
///
/// Operands: input, packed weight, bias (only if has_bias), output.
struct ConvSpec {
  /// float32 [N, C, H, W] or [N, C, L], dense in that order, or dense with the channels last.
  OperandSpec input;
  Sizes weight_sizes;  ///< [O, C / groups, spatial...]
  /// float32 [O], contiguous.
  bool has_bias = false;
  /// One an spatial dim.
  Sizes stride;
  Sizes padding_begin;
  Sizes padding_end;
  Sizes dilation;
  std::int64_t groups = 1;
  /// float32 [N, O, spatial...]; dense, strides as for the input (the two may differ).
  OperandSpec output;
  int threads = 1;
};

/// Throws Error (kInternal) when the sizes do not fit together.
KernelPtr select_conv(const ConvSpec& spec);

/// Whether select_conv takes an input or output with these strides.
bool conv_takes(const OperandSpec& operand);

}  // namespace unfuse::cpu
