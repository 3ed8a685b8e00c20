// Which instruction sets the kernels are built for. Include before anything of Highway.
#pragma once

// SSSE3 and SSE4 cost build time and serve no machine that would run this; vectors of SVE cannot be
// array elements, which the register-blocked kernels need. (Bits of other architectures do no
// harm.)
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
