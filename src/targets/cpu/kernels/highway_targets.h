// Which instruction sets the kernels are built for. Include before anything of Highway.
#pragma once

// SSSE3 and SSE4 cost build time and serve no machine that would run this, nor is there anything
// for float32 in what AVX3_SPR (1 << 4) and AVX3_ZEN4 (1 << 6) add, which Highway 1.0.3 has no
// names for; vectors of SVE cannot be array elements, which the register-blocked kernels need.
// (Bits of other architectures do no harm.)
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | (1LL << 4) | (1LL << 6) | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

// The baseline is what every machine of the architecture has: on x86 HWY_SCALAR of Highway 1.0.3,
// HWY_SSE2 of later ones; on 64-bit Arm HWY_EMU128, HWY_NEON or HWY_NEON_WITHOUT_AES. What code may
// ask of the target it is compiled for (better ones of an architecture have lower bits):

// 16 vector registers, where others have 32.
#define UNFUSE_FEW_REGISTERS (HWY_ARCH_X86 && HWY_TARGET >= HWY_AVX2)

// Registers of 512 bits. Only machines with these have instructions that multiply bfloat16, though
// not all of them do: ask has_bfloat16_products().
#define UNFUSE_MAYBE_BFLOAT16_PRODUCTS (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3)

// Conversions from and to float16 by the hardware, which round right. Highway's emulation does not:
// it flushes subnormals.
#define UNFUSE_HARDWARE_FLOAT16                \
  ((HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2) || \
   (HWY_ARCH_ARM_A64 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128))
