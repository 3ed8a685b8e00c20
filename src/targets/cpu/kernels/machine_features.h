// What the machine can do that is decided on when a graph is compiled.
#pragma once

namespace unfuse::cpu {

/// Whether there is an instruction that multiplies pairs of bfloat16 and sums them in float32
/// (AVX512-BF16). Highway 1.0.3 does not tell.
bool has_bfloat16_products();

/// Whether there are tile registers that multiply bfloat16 (AMX), and the system lets this process
/// use them: it is asked when this is first called.
bool has_tile_products();

/// Whether products of bfloat16 are faster than those of float32: those of tiles are more than ten
/// times as fast. Without, AMD's processors compute twice as many in the same time. Intel's compute
/// half as many: 127 to 152 GFLOP/s were measured, where float32 gave 260 to 318.
bool has_fast_bfloat16_products();

}  // namespace unfuse::cpu
