#include "bench.h"
#include "targets/cpu/kernels/attention.h"

namespace unfuse::cpu::bench {
namespace {

/// batch, heads, length, depth, causal
void attention(benchmark::State& state) {
  const Sizes sizes = {state.range(0), state.range(1), state.range(2), state.range(3)};
  Random query(sizes), key(sizes), value(sizes), output(sizes);
  AttentionSpec spec;
  spec.query = query.spec();
  spec.key = key.spec();
  spec.value = value.spec();
  spec.output = output.spec();
  spec.is_causal = state.range(4) != 0;
  spec.scale = 0.125f;
  spec.threads = threads();
  const auto length = static_cast<double>(sizes[2]);
  const double pairs = spec.is_causal ? length * (length + 1) / 2 : length * length;
  const double flops = 4.0 * static_cast<double>(sizes[0] * sizes[1] * sizes[3]) * pairs;
  time_kernel(state, *select_attention(spec),
              {query.data(), key.data(), value.data(), output.data()}, flops, 0);
}

BENCHMARK(attention)
    ->Args({8, 8, 128, 64, 0})
    ->Args({1, 12, 197, 64, 0})
    ->Args({1, 8, 1024, 64, 0})
    ->Args({1, 8, 1024, 64, 1})
    ->Args({1, 8, 4096, 64, 0})
    ->Args({1, 8, 1024, 80, 0})
    ->Args({1, 8, 1024, 128, 0})
    ->Args({1, 8, 1024, 32, 0})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace unfuse::cpu::bench
