// Measures the machine's limits, once for every line on standard input, until it ends:
//   bench_limits THREADS
// answers each with a line of JSON, {"flops_per_second": ..., "bfloat16_flops_per_second": ...,
// "bytes_per_second": ...}.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "targets/cpu/kernels/gemm.h"
#include "targets/cpu/machine_limits.h"

int main(int argc, char** argv) {
  const int threads = argc == 2 ? std::atoi(argv[1]) : 0;
  if (threads < 1) {
    std::fprintf(stderr, "usage: bench_limits THREADS < REQUESTS\n");
    return 2;
  }
  const unfuse::cpu::BandwidthMeter bandwidth;
  for (std::string line; std::getline(std::cin, line);) {
    std::printf(
        "{\"flops_per_second\": %.6g, \"bfloat16_flops_per_second\": %.6g, "
        "\"bytes_per_second\": %.6g}\n",
        unfuse::cpu::measure_arithmetic_limit(threads),
        unfuse::cpu::measure_arithmetic_limit(threads, unfuse::cpu::kMeasuringSeconds,
                                              unfuse::cpu::bfloat16_products()),
        bandwidth.measure(threads));
    std::fflush(stdout);
  }
}
