#include "bench.h"
#include "targets/cpu/kernels/gemm.h"

namespace unfuse::cpu::bench {
namespace {

/// rows, in features, out features, epilogue
void packed_linear(benchmark::State& state) {
  const std::int64_t rows = state.range(0);
  const std::int64_t in_features = state.range(1);
  const std::int64_t out_features = state.range(2);
  Random input({rows, in_features}), weight({out_features, in_features}), bias({out_features}),
      output({rows, out_features});
  const PackedPtr packed = pack_linear_weight(weight.spec(), weight.data(), threads());
  PackedLinearSpec spec;
  spec.input = input.spec();
  spec.out_features = out_features;
  spec.has_bias = true;
  spec.epilogue = static_cast<Epilogue>(state.range(3));
  spec.output = output.spec();
  spec.threads = threads();
  time_kernel(state, *select_packed_linear(spec),
              {input.data(), packed_operand(*packed), bias.data(), output.data()},
              2.0 * static_cast<double>(rows * in_features * out_features), 0);
}

BENCHMARK(packed_linear)
    ->Args({1, 768, 768, 0})
    ->Args({128, 512, 512, 0})
    ->Args({1024, 512, 1536, 0})
    ->Args({1024, 512, 2048, 0})
    ->Args({1024, 512, 2048, 2})
    ->Args({4096, 2048, 512, 0})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void matmul(benchmark::State& state) {
  const std::int64_t batch = state.range(0), m = state.range(1), k = state.range(2),
                     n = state.range(3);
  Random a({batch, m, k}), b({batch, k, n}), output({batch, m, n});
  const MatmulSpec spec = {a.spec(), b.spec(), false, 1, output.spec(), threads()};
  time_kernel(state, *select_matmul(spec), {a.data(), b.data(), output.data()},
              2.0 * static_cast<double>(batch * m * k * n), 0);
}

BENCHMARK(matmul)
    ->Args({64, 128, 64, 128})
    ->Args({1, 1024, 1024, 1024})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace unfuse::cpu::bench
