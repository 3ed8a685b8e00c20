#include <cmath>
#include <optional>

#include "bench.h"
#include "targets/cpu/kernels/attention.h"

namespace unfuse::cpu::bench {
namespace {

enum MaskKind : std::int64_t {
  kNoMask,
  kCausal,
  kPadding,   ///< bool [B, 1, 1, L], the first half of the keys real
  kBoolRows,  ///< bool [B, 1, L, L], 9 of 10 keys seen
  kAdditive,  ///< float [B, H, L, L]
};

/// A mask of its own sizes, seen as [B, H, L, S].
class Mask {
 public:
  Mask(MaskKind kind, const Sizes& scores)
      : values_({kind == kAdditive ? scores[0] * scores[1] * scores[2] * scores[3] : 0}) {
    if (kind == kNoMask || kind == kCausal) return;
    if (kind == kAdditive) {
      spec_ = OperandSpec::contiguous(DType::kFloat32, scores);
      return;
    }
    const std::int64_t keys = scores[3];
    const std::int64_t rows = kind == kPadding ? 1 : scores[2];
    std::mt19937 random(1);
    bools_.resize(static_cast<std::size_t>(scores[0] * rows * keys));
    for (std::size_t i = 0; i < bools_.size(); ++i) {
      const std::int64_t key = static_cast<std::int64_t>(i) % keys;
      bools_[i] = kind == kPadding ? key < keys / 2 : random() % 10 != 0;
    }
    spec_ = {DType::kBool, scores, {rows * keys, 0, rows == 1 ? 0 : keys, 1}};
  }
  const std::optional<OperandSpec>& spec() const { return spec_; }
  void* data() { return bools_.empty() ? values_.data() : bools_.data(); }

 private:
  Random values_;
  std::vector<std::uint8_t> bools_;
  std::optional<OperandSpec> spec_;
};

/// [B, L, parts, H, D] seen as one part's [B, H, L, D].
OperandSpec inside(const Sizes& sizes, std::int64_t parts) {
  const std::int64_t row = parts * sizes[1] * sizes[3];
  return {DType::kFloat32, sizes, {sizes[2] * row, sizes[3], row, 1}};
}

/// The scores that count: what a mask hides is not work.
double visible_pairs(MaskKind kind, double length, double keys) {
  if (kind == kCausal) return length * (length + 1) / 2;
  return kind == kPadding ? length * std::floor(keys / 2) : length * keys;
}

/// Query, key and value lie in one packed projection [B, L, 3 H D], the result in [B, L, H D].
void attention(benchmark::State& state) {
  const Sizes sizes = {state.range(0), state.range(1), state.range(2), state.range(3)};
  const auto kind = static_cast<MaskKind>(state.range(4));
  const std::int64_t part = sizes[1] * sizes[3];
  Random projection({sizes[0], sizes[2], 3 * part}), output({sizes[0], sizes[2], part});
  auto* query = static_cast<float*>(projection.data());
  Mask mask(kind, {sizes[0], sizes[1], sizes[2], sizes[2]});
  AttentionSpec spec;
  spec.query = spec.key = spec.value = inside(sizes, 3);
  spec.mask = mask.spec();
  spec.output = inside(sizes, 1);
  spec.is_causal = kind == kCausal;
  spec.scale = 1 / std::sqrt(static_cast<float>(sizes[3]));
  spec.threads = threads();
  const auto length = static_cast<double>(sizes[2]);
  const double flops =
      4.0 * static_cast<double>(sizes[0] * part) * visible_pairs(kind, length, length);
  std::vector<void*> operands = {query, query + part, query + 2 * part};
  if (mask.spec()) operands.push_back(mask.data());
  operands.push_back(output.data());
  time_kernel(state, *select_attention(spec), operands, flops, 0);
}

BENCHMARK(attention)
    ->ArgNames({"batch", "heads", "length", "depth", "mask"})
    ->Args({64, 8, 16, 64, kNoMask})
    ->Args({16, 8, 64, 64, kNoMask})
    ->Args({8, 8, 128, 64, kNoMask})
    ->Args({1, 12, 197, 64, kNoMask})
    ->Args({1, 8, 512, 64, kNoMask})
    ->Args({1, 8, 1024, 64, kNoMask})
    ->Args({1, 8, 4096, 64, kNoMask})
    ->Args({1, 8, 15000, 64, kNoMask})
    ->Args({1, 8, 1024, 32, kNoMask})
    ->Args({1, 8, 1024, 80, kNoMask})
    ->Args({1, 8, 1024, 128, kNoMask})
    ->Args({8, 8, 128, 64, kCausal})
    ->Args({1, 8, 1024, 64, kCausal})
    ->Args({1, 8, 4096, 64, kCausal})
    ->Args({8, 8, 128, 64, kPadding})
    ->Args({2, 8, 1024, 64, kPadding})
    ->Args({1, 8, 4096, 64, kPadding})
    ->Args({8, 8, 128, 64, kBoolRows})
    ->Args({2, 8, 1024, 64, kBoolRows})
    ->Args({8, 8, 128, 64, kAdditive})
    ->Args({2, 8, 1024, 64, kAdditive})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

/// One query row against many keys: memory is what limits. batch, heads, keys, depth, query heads a
/// key head.
void attention_one_row(benchmark::State& state) {
  const std::int64_t batch = state.range(0), heads = state.range(1), keys = state.range(2),
                     depth = state.range(3), group = state.range(4);
  Random query({batch, heads, 1, depth}), key({batch, heads / group, keys, depth}),
      value({batch, heads / group, keys, depth}), output({batch, heads, 1, depth});
  AttentionSpec spec;
  spec.query = query.spec();
  spec.key = key.spec();
  spec.value = value.spec();
  spec.output = output.spec();
  spec.scale = 1 / std::sqrt(static_cast<float>(depth));
  spec.threads = threads();
  time_kernel(state, *select_attention(spec),
              {query.data(), key.data(), value.data(), output.data()}, 0,
              8.0 * static_cast<double>(key.spec().numel()));
}

BENCHMARK(attention_one_row)
    ->ArgNames({"batch", "heads", "keys", "depth", "group"})
    ->Args({1, 8, 64, 64, 1})
    ->Args({1, 8, 512, 64, 1})
    ->Args({1, 8, 32768, 64, 1})
    ->Args({1, 32, 8192, 128, 4})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace unfuse::cpu::bench
