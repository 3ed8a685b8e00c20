// Pointwise programs and copies.
#include "bench.h"
#include "targets/cpu/kernels/copy.h"
#include "targets/cpu/kernels/pointwise.h"

namespace unfuse::cpu::bench {
namespace {

constexpr auto kF32 = RegisterType::kFloat32;

/// One op over `elements`.
void unary(benchmark::State& state, PointwiseOp op) {
  const Sizes sizes = {state.range(0)};
  Random input(sizes), output(sizes);
  PointwiseSpec spec;
  spec.program = {{kF32}, {{op, kF32, {0, -1, -1}, {}, 0}}, {1}};
  spec.sizes = sizes;
  spec.inputs = {input.spec()};
  spec.outputs = {output.spec()};
  spec.threads = threads();
  time_kernel(state, *select_pointwise(spec), {input.data(), output.data()}, 0,
              8 * static_cast<double>(sizes[0]));
}

/// relu((x + y) * x - y) + x
void chain(benchmark::State& state) {
  const Sizes sizes = {state.range(0)};
  Random x(sizes), y(sizes), output(sizes);
  PointwiseSpec spec;
  spec.program = {{kF32, kF32},
                  {{PointwiseOp::kAdd, kF32, {0, 1, -1}, {}, 0},
                   {PointwiseOp::kMultiply, kF32, {2, 0, -1}, {}, 0},
                   {PointwiseOp::kSubtract, kF32, {3, 1, -1}, {}, 0},
                   {PointwiseOp::kRelu, kF32, {4, -1, -1}, {}, 0},
                   {PointwiseOp::kAdd, kF32, {5, 0, -1}, {}, 0}},
                  {6}};
  spec.sizes = sizes;
  spec.inputs = {x.spec(), y.spec()};
  spec.outputs = {output.spec()};
  spec.threads = threads();
  time_kernel(state, *select_pointwise(spec), {x.data(), y.data(), output.data()}, 0,
              12 * static_cast<double>(sizes[0]));
}

/// rows, columns
void transpose(benchmark::State& state) {
  const Sizes sizes = {state.range(0), state.range(1)};
  Random input({sizes[1], sizes[0]}), output(sizes);
  OperandSpec transposed = input.spec();
  transposed.sizes = sizes;
  transposed.strides = {1, sizes[0]};
  time_kernel(state, *select_copy({transposed, output.spec(), threads()}),
              {input.data(), output.data()}, 0, 8 * static_cast<double>(sizes[0] * sizes[1]));
}

void absolute(benchmark::State& state) { unary(state, PointwiseOp::kAbsolute); }
void exp(benchmark::State& state) { unary(state, PointwiseOp::kExp); }
void gelu(benchmark::State& state) { unary(state, PointwiseOp::kGelu); }
void gelu_tanh(benchmark::State& state) { unary(state, PointwiseOp::kGeluTanh); }
void tanh(benchmark::State& state) { unary(state, PointwiseOp::kTanh); }

BENCHMARK(absolute)->Arg(1024)->Arg(1 << 20)->UseManualTime();
BENCHMARK(exp)->Arg(1 << 20)->UseManualTime();
BENCHMARK(tanh)->Arg(1 << 20)->UseManualTime();
BENCHMARK(gelu)->Arg(1 << 20)->UseManualTime();
BENCHMARK(gelu_tanh)->Arg(1 << 20)->UseManualTime();
BENCHMARK(chain)->Arg(1 << 16)->Arg(1 << 22)->UseManualTime();
BENCHMARK(transpose)->Args({1024, 512})->Args({512, 3072})->UseManualTime();

}  // namespace
}  // namespace unfuse::cpu::bench
