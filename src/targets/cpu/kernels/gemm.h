// Matrix products of float32, summed in float32: with a constant packed weight, and of two strided
// batches.
#pragma once

#include <cstdint>
#include <optional>

#include "targets/cpu/kernels/kernel.h"
#include "targets/cpu/kernels/products.h"

namespace unfuse::cpu {

/// What is applied to each element of a product after the bias.
enum class Epilogue {
  kNone,
  kRelu,
  kGelu,      ///< x/2 * (1 + erf(x / sqrt 2))
  kGeluTanh,  ///< x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))
  kSilu,      ///< x / (1 + exp(-x))
};

/// Whether this machine has kernels for these products, of the instruction set that is used.
bool has_products(Products products);

/// The fastest there are of bfloat16.
Products bfloat16_products();

/// Packs the weight of a linear layer. `weight` is [N, K] (out features, in features) of float32,
/// float16 or bfloat16, any strides; it is converted to what is multiplied. `data` points at
/// element (0, 0). The layout depends on N, K and the packing alone. N and K may be 0.
PackedPtr pack_linear_weight(const OperandSpec& weight, const void* data, Packing packing,
                             int threads);

/// out[..., n] = epilogue(sum over k of input[..., k] * weight[n, k] + bias[n]) + residual[..., n]
///
/// Operands: row count (only if there are counted rows), input, packed weight, bias (only if
/// has_bias), residual (only if there is one), output. The residual may be the output's own memory
/// with the same strides; it may not overlap it otherwise. The input may not overlap the output.
struct PackedLinearSpec {
  /// float32 [..., K], strides as packed_linear_reads says.
  OperandSpec input;
  std::int64_t out_features = 0;  ///< N
  /// The bias is float32 [N], contiguous.
  bool has_bias = false;
  Epilogue epilogue = Epilogue::kNone;
  /// float32 [..., N], strides as packed_linear_reads says.
  std::optional<OperandSpec> residual;
  /// float32 [..., N], strides as packed_linear_writes says.
  OperandSpec output;
  /// Some that the weight is packed for.
  Products products = Products::kFloat32;
  /// See counted_part(). Neither the input nor the output is empty then.
  std::optional<std::int64_t> counted_rows;
  int threads = 1;
};

/// Whether the operand is a list of rows at a constant distance, each row contiguous. The distance
/// may be anything: 0 for one row that is read again and again, less than a row's length, or
/// negative. Any number of leading dims, none included; strides of dims of size 1 do not matter.
bool packed_linear_reads(const OperandSpec& rows);

/// The same with a distance of at least a row's length, so that no two rows overlap.
bool packed_linear_writes(const OperandSpec& rows);

/// Any number of rows; 0 rows do nothing, K = 0 gives the bias or zeros.
KernelPtr select_packed_linear(const PackedLinearSpec& spec);

/// out[..., m, n] = alpha * (sum over k of a[..., m, k] * b[..., k, n]) + bias[n]
///
/// Operands: a, b, bias (only if has_bias), output.
struct MatmulSpec {
  /// float32 [..., M, K] and [..., K, N] of equal rank (at least 2), batch dims expanded to the
  /// output's with stride 0; strides as matmul_reads_left and matmul_reads_right say.
  OperandSpec a;
  OperandSpec b;
  /// The bias is float32 [N], contiguous.
  bool has_bias = false;
  float alpha = 1;
  /// float32 [..., M, N]; last stride 1 (or N = 1), rows that do not overlap.
  OperandSpec output;
  int threads = 1;
};

/// Whether `a` may have these strides: 1 along K (or K = 1), any along the others.
bool matmul_reads_left(const OperandSpec& matrix);

/// Whether `b` may have these strides: 1 along K or along N (or one of the two is 1), any along the
/// others.
bool matmul_reads_right(const OperandSpec& matrix);

KernelPtr select_matmul(const MatmulSpec& spec);

}  // namespace unfuse::cpu
