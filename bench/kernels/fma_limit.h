// What the machine can do at most, measured in the process that is to be judged by it.
#pragma once

namespace unfuse::cpu::bench {

/// float32 flops per second of fused multiply-adds on registers alone, on `threads` threads, with
/// the widest vectors that the kernels use; takes a few milliseconds. It drifts with the load and
/// the temperature of the machine: measure it next to what is compared with it.
double fma_limit(int threads);

}  // namespace unfuse::cpu::bench
