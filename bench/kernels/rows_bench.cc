// Norms, softmax and reductions over rows.
#include "bench.h"
#include "targets/cpu/kernels/layer_norm.h"
#include "targets/cpu/kernels/reduce.h"
#include "targets/cpu/kernels/softmax.h"

namespace unfuse::cpu::bench {
namespace {

double bytes_of(const Sizes& sizes, double passes) {
  return passes * 4 * static_cast<double>(sizes[0] * sizes[1]);
}

void layer_norm(benchmark::State& state) {
  const Sizes sizes = {state.range(0), state.range(1)};
  Random input(sizes), weight({sizes[1]}), bias({sizes[1]}), output(sizes);
  NormSpec spec;
  spec.input = input.spec();
  spec.has_weight = spec.has_bias = true;
  spec.output = output.spec();
  spec.threads = threads();
  time_kernel(state, *select_norm(spec), {input.data(), weight.data(), bias.data(), output.data()},
              0, bytes_of(sizes, 2));
}

void softmax(benchmark::State& state) {
  const Sizes sizes = {state.range(0), state.range(1)};
  Random input(sizes), output(sizes);
  const SoftmaxSpec spec = {SoftmaxKind::kSoftmax, input.spec(), -1, output.spec(), threads()};
  time_kernel(state, *select_softmax(spec), {input.data(), output.data()}, 0, bytes_of(sizes, 2));
}

/// rows, columns, the dim that is summed
void sum(benchmark::State& state) {
  const Sizes sizes = {state.range(0), state.range(1)};
  Sizes reduced = sizes;
  reduced[static_cast<std::size_t>(state.range(2))] = 1;
  Random input(sizes), output(reduced);
  ReduceSpec spec;
  spec.input = input.spec();
  spec.dims = {state.range(2)};
  spec.output = output.spec();
  spec.threads = threads();
  time_kernel(state, *select_reduce(spec), {input.data(), output.data()}, 0, bytes_of(sizes, 1));
}

BENCHMARK(layer_norm)->Args({1024, 512})->Args({1024, 768})->Args({15000, 512})->UseManualTime();
BENCHMARK(softmax)->Args({1024, 128})->Args({8192, 1024})->UseManualTime();
BENCHMARK(sum)->Args({1024, 512, 1})->Args({1024, 512, 0})->UseManualTime();

}  // namespace
}  // namespace unfuse::cpu::bench
