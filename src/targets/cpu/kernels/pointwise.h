// Pointwise programs: a list of scalar instructions run over broadcast operands.
//
// A program is in SSA form over registers. Register i < inputs.size() is input i, converted while
// loading to the register type asked for; instruction j defines register inputs.size() + j. Tiles
// of some hundred elements go through all instructions before the next tile is loaded, so a chain
// of ops costs one pass over memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu {

/// What a register holds. Integers and bools of every width are computed in int64 and truncated
/// when stored, which gives the wrapping results of their own width. A bool is 0 or 1.
enum class RegisterType : std::uint8_t { kFloat32, kFloat64, kInt64 };

/// Unless said otherwise an op takes registers of one type and gives that type. Comparisons,
/// logical ops and tests give 0 or 1. F = float32 and float64 only, I = int64 only. NaN propagates
/// through every op that does not say otherwise. p0, p1, p2 are `parameters`.
enum class PointwiseOp : std::uint8_t {
  // Sources.
  kConstant,    ///< (): p0 in F registers, `integer` in int64 ones
  kCoordinate,  ///< (): the index along dim `integer` of the spec's sizes; int64
  // Conversions between register types, as torch's .to(): float to int truncates.
  kToFloat32,
  kToFloat64,
  kToInt64,
  kToBool,           ///< a != 0, NaN counts as true; keeps the register type
  kRoundToFloat16,   ///< float32: to the nearest float16 value, ties to even
  kRoundToBFloat16,  ///< float32: to the nearest bfloat16 value, ties to even
  // Arithmetic.
  kAdd,
  kSubtract,
  kMultiply,
  kMultiplyAdd,  ///< a * b + c; one rounding in F
  kDivide,       ///< F: a / b
  kDivideTrunc,  ///< rounded towards zero; I: throws Error (kInvalidArgument) if b is 0
  kDivideFloor,  ///< rounded down, as Python's //; I: throws as above
  kRemainder,    ///< a - b * floor(a / b): the sign of b, as Python's %; I: throws as above
  kFmod,         ///< a - b * trunc(a / b): the sign of a; I: throws as above
  kPower,        ///< I: negative exponents give 0 except for bases 1 and -1, as torch
  kMaximum,      ///< NaN if either is
  kMinimum,      ///< NaN if either is
  kFmax,         ///< F: the other one if one is NaN
  kFmin,         ///< F: the other one if one is NaN
  kAtan2,        ///< F
  kLerp,         ///< F (a, b, weight): a + weight * (b - a), torch's two-sided formula
  kNegate,
  kAbsolute,
  kSign,        ///< 0 for 0; NaN gives 0, as torch
  kReciprocal,  ///< F
  kSquare,
  kCube,
  // Rounding: F; the identity on int64.
  kFloor,
  kCeil,
  kRound,  ///< half to even
  kTrunc,
  // Powers and logarithms: F.
  kSqrt,
  kRsqrt,
  kExp,
  kExp2,
  kExpm1,
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  // Trigonometric and related: F.
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kErfc,
  // Activations: F, except kRelu.
  kSigmoid,      ///< 1 / (1 + exp(-a))
  kLogSigmoid,   ///< min(a, 0) - log1p(exp(-|a|))
  kRelu,         ///< max(a, 0)
  kGelu,         ///< a/2 * (1 + erf(a / sqrt 2))
  kGeluTanh,     ///< a/2 * (1 + tanh(sqrt(2/pi) * (a + 0.044715 a^3)))
  kSilu,         ///< a * sigmoid(a)
  kElu,          ///< p1 * a if a > 0, else p0 * p1 * expm1(p2 * a): alpha, scale, input_scale
  kLeakyRelu,    ///< a > 0 ? a : p0 * a
  kHardtanh,     ///< min(max(a, p0), p1)
  kHardswish,    ///< a * min(max(a + 3, 0), 6) / 6
  kHardsigmoid,  ///< min(max(a + 3, 0), 6) / 6
  kSoftplus,     ///< p0 * a > p1 ? a : log1p(exp(p0 * a)) / p0: beta, threshold
  kMish,         ///< a * tanh(log1p(exp(a)))
  // Comparisons (false for NaN, but kNotEqual true) and tests.
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIsNan,     ///< 0 on int64
  kIsInf,     ///< 0 on int64
  kIsFinite,  ///< 1 on int64
  // Logic: any nonzero value, NaN included, is true.
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  kLogicalNot,
  // Bits: I. For bool tensors use the logical ops.
  kBitwiseAnd,
  kBitwiseOr,
  kBitwiseXor,
  kBitwiseNot,
  kShiftLeft,   ///< 0 for shifts of 64 or more, or below 0
  kShiftRight,  ///< arithmetic; shifts of 64 or more, or below 0, count as 63
  // Selection.
  kWhere,  ///< (condition, a, b): a where condition is nonzero; condition of a's type
};

/// Registers that an op takes: 0 to 3.
int pointwise_arity(PointwiseOp op);

struct PointwiseInstruction {
  PointwiseOp op = PointwiseOp::kConstant;
  /// The type computed in: of the operands and the result, except that conversions name the type
  /// they give.
  RegisterType type = RegisterType::kFloat32;
  std::array<int, 3> arguments = {-1, -1, -1};  ///< registers; unused ones are -1
  std::array<double, 3> parameters = {};
  std::int64_t integer = 0;
};

struct PointwiseProgram {
  /// The register type that each input is converted to.
  std::vector<RegisterType> inputs;
  std::vector<PointwiseInstruction> instructions;
  /// The registers stored, one an output; converted to the output's dtype (to bool: != 0).
  std::vector<int> outputs;
};

/// Operands: row count (only if there are counted rows), inputs in order, outputs in order.
struct PointwiseSpec {
  PointwiseProgram program;
  /// Every operand has these sizes; broadcast dims have stride 0. Rank 0 to any.
  Sizes sizes;
  /// Any strides; every dtype except complex and 8-bit floats. Fastest when the innermost
  /// strides are 1 or 0, or all operands share one dense order.
  std::vector<OperandSpec> inputs;
  /// Any strides that do not overlap. An output may be an input's own memory if dtype size and
  /// strides are the same, and no other input overlaps it.
  std::vector<OperandSpec> outputs;
  std::optional<std::int64_t> counted_rows;  ///< see counted_part(); of `sizes`
  int threads = 1;
};

/// Throws Error (kInternal) for a program that is not well formed (types, registers, arity).
KernelPtr select_pointwise(const PointwiseSpec& spec);

}  // namespace unfuse::cpu
