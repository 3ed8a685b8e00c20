// Attention on random operands, and what it must give, in float64.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/strided.h"
#include "targets/cpu/kernels/attention.h"

namespace unfuse::cpu::testing {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct AttentionOperands {
  Strided query, key, value;
  std::optional<Strided> mask;
  Strided output;
  AttentionSpec spec;
};

struct AttentionCase {
  const char* name;
  Sizes batch;
  std::int64_t heads, groups, length, source_length, depth, width;
  Placement query = {}, key = {}, value = {}, output = {};
  std::optional<DType> mask_dtype = {};
  Placement mask = {};
  bool is_causal = false;
};

AttentionOperands make_attention(const AttentionCase& test, int threads = 2, unsigned seed = 17);

void run_attention(AttentionOperands& made);

/// The definition, in float64, one element of the output at a time; fastest in row-major order.
/// Like PyTorch, it multiplies what a mask hides too: 0 * NaN is NaN.
class AttentionReference {
 public:
  explicit AttentionReference(const AttentionOperands& made) : made_(made) {}
  double operator()(const Index& at);

 private:
  const AttentionOperands& made_;
  Index row_;
  std::vector<double> weights_;
  double special_ = 0;
};

void expect_attention(const AttentionOperands& made, double tolerance);

}  // namespace unfuse::cpu::testing
