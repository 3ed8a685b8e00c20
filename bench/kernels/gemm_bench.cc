// Linear layers over packed weights, ours and oneDNN's, and products of two activations.
#include "bench.h"
#include "targets/cpu/kernels/gemm.h"
#include "targets/cpu/kernels/onednn.h"

namespace unfuse::cpu::bench {
namespace {

double product_flops(std::int64_t rows, std::int64_t depth, std::int64_t columns) {
  return 2.0 * static_cast<double>(rows) * static_cast<double>(depth) *
         static_cast<double>(columns);
}

/// Weights [N, K] of their own memory, together more than any cache holds if `cold`.
std::vector<Random> weights(std::int64_t in_features, std::int64_t out_features, bool cold) {
  constexpr std::int64_t kBytes = std::int64_t{256} << 20;
  const std::int64_t bytes = in_features * out_features * std::int64_t{sizeof(float)};
  std::vector<Random> made;
  do {
    made.emplace_back(Sizes{out_features, in_features});
  } while (cold && static_cast<std::int64_t>(made.size()) * bytes < kBytes);
  return made;
}

/// rows, in features, out features, Epilogue, residual
void run_packed_linear(benchmark::State& state, bool cold) {
  const std::int64_t rows = state.range(0);
  const std::int64_t in_features = state.range(1);
  const std::int64_t out_features = state.range(2);
  Random input({rows, in_features}), bias({out_features}), residual({rows, out_features}),
      output({rows, out_features});
  PackedLinearSpec spec;
  spec.input = input.spec();
  spec.out_features = out_features;
  spec.has_bias = true;
  spec.epilogue = static_cast<Epilogue>(state.range(3));
  if (state.range(4) != 0) spec.residual = residual.spec();
  spec.output = output.spec();
  spec.threads = threads();
  std::vector<PackedPtr> packed;
  std::vector<std::vector<void*>> operands;
  for (Random& weight : weights(in_features, out_features, cold)) {
    packed.push_back(
        pack_linear_weight(weight.spec(), weight.data(), Packing::kFloat32, threads()));
    operands.push_back({input.data(), packed_operand(*packed.back()), bias.data()});
    if (spec.residual) operands.back().push_back(residual.data());
    operands.back().push_back(output.data());
  }
  time_kernel(state, *select_packed_linear(spec), operands,
              product_flops(rows, in_features, out_features),
              cold ? static_cast<double>(packed.front()->bytes()) : 0);
}

void packed_linear(benchmark::State& state) { run_packed_linear(state, false); }
/// Every run finds its weight in memory, as a model of many layers does.
void packed_linear_cold(benchmark::State& state) { run_packed_linear(state, true); }

/// The peer: oneDNN on a weight in the layout that it asks for. rows, in features, out features
void run_onednn_linear(benchmark::State& state, bool cold) {
  const std::int64_t rows = state.range(0);
  const std::int64_t in_features = state.range(1);
  const std::int64_t out_features = state.range(2);
  Random input({rows, in_features}), bias({out_features}), output({rows, out_features});
  onednn::MatmulProblem problem;
  problem.source = onednn::strided_layout({rows, in_features}, {in_features, 1});
  problem.weights = onednn::any_layout({in_features, out_features});
  problem.destination = onednn::strided_layout({rows, out_features}, {out_features, 1});
  problem.has_bias = true;
  problem.threads = threads();
  problem.weights = onednn::make_matmul(problem, false)->weights_layout();
  const onednn::PrimitivePtr primitive = onednn::make_matmul(problem);
  const onednn::LayoutPtr transposed =
      onednn::strided_layout({in_features, out_features}, {1, in_features});
  std::vector<AlignedBuffer> packed;
  for (Random& weight : weights(in_features, out_features, cold)) {
    packed.emplace_back(onednn::layout_bytes(*problem.weights));
    onednn::reorder(*transposed, weight.data(), *problem.weights, packed.back().data(), threads());
  }
  AlignedBuffer scratch(primitive->scratch_bytes());
  time_runs(
      state,
      [&](std::size_t index) {
        primitive->execute(input.data(), packed[index % packed.size()].data(), bias.data(),
                           output.data(), scratch.data());
      },
      product_flops(rows, in_features, out_features),
      cold ? static_cast<double>(packed.front().bytes()) : 0);
}

void onednn_linear(benchmark::State& state) { run_onednn_linear(state, false); }
void onednn_linear_cold(benchmark::State& state) { run_onednn_linear(state, true); }

constexpr std::int64_t kLayers[][2] = {{512, 512}, {512, 1536}, {512, 2048}, {2048, 512},
                                       {768, 768}, {768, 2304}, {768, 3072}, {3072, 768}};

void every_layer(benchmark::internal::Benchmark* benchmark) {
  for (const auto& [in_features, out_features] : kLayers) {
    for (const std::int64_t rows : {1, 4, 16, 64, 128, 1024, 4096}) {
      benchmark->Args({rows, in_features, out_features, 0, 0});
    }
  }
  benchmark->UseManualTime()->Unit(benchmark::kMillisecond);
}

void few_rows(benchmark::internal::Benchmark* benchmark) {
  for (const auto& [in_features, out_features] : kLayers) {
    for (const std::int64_t rows : {1, 4, 16}) {
      benchmark->Args({rows, in_features, out_features, 0, 0});
    }
  }
  benchmark->UseManualTime()->Unit(benchmark::kMillisecond);
}

void every_epilogue(benchmark::internal::Benchmark* benchmark) {
  for (const Epilogue epilogue :
       {Epilogue::kRelu, Epilogue::kGelu, Epilogue::kGeluTanh, Epilogue::kSilu}) {
    benchmark->Args({1024, 512, 2048, static_cast<std::int64_t>(epilogue), 0});
  }
  benchmark->Args({1024, 2048, 512, 0, 1});
}

BENCHMARK(packed_linear)->Apply(every_layer)->Apply(every_epilogue);
BENCHMARK(onednn_linear)->Apply(every_layer);
BENCHMARK(packed_linear_cold)->Apply(few_rows);
BENCHMARK(onednn_linear_cold)->Apply(few_rows);

/// batch, M, K, N, whether b is the transpose of what lies in memory
void matmul(benchmark::State& state) {
  const std::int64_t batch = state.range(0), m = state.range(1), k = state.range(2),
                     n = state.range(3);
  Random a({batch, m, k}), b({batch, k, n}), output({batch, m, n});
  OperandSpec b_spec = b.spec();
  if (state.range(4) != 0) b_spec.strides = {k * n, 1, k};
  const MatmulSpec spec = {a.spec(), b_spec, false, 1, output.spec(), threads()};
  time_kernel(state, *select_matmul(spec), {a.data(), b.data(), output.data()},
              static_cast<double>(batch) * product_flops(m, k, n), 0);
}

BENCHMARK(matmul)
    ->Args({64, 128, 64, 128, 1})
    ->Args({64, 128, 128, 64, 0})
    ->Args({8, 1024, 64, 1024, 1})
    ->Args({8, 1024, 1024, 64, 0})
    ->Args({1, 1024, 1024, 1024, 0})
    ->Args({1, 1024, 1024, 1024, 1})
    ->Args({1, 128, 512, 512, 1})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace unfuse::cpu::bench
