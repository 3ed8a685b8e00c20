#include "targets/cpu/kernels/machine_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace unfuse::cpu {

#if defined(__x86_64__)

namespace {

/// Not every compiler's __builtin_cpu_supports() knows "amx-tile" and "amx-bf16".
bool has_tile_instructions() {
  constexpr unsigned kBfloat16Tiles = 1U << 22;  // both are bits of edx in leaf 7
  constexpr unsigned kTiles = 1U << 24;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (edx & kTiles) != 0 && (edx & kBfloat16Tiles) != 0;
}

/// Linux keeps the eight kilobytes of tile registers for those processes that have asked for them.
bool may_use_tiles() {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM of <asm/prctl.h>
  constexpr long kTileData = 18;               // the feature's number in XSAVE
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace

bool has_bfloat16_products() { return __builtin_cpu_supports("avx512bf16") != 0; }

bool has_tile_products() {
  static const bool has_them =
      has_bfloat16_products() && has_tile_instructions() && may_use_tiles();
  return has_them;
}

bool has_fast_bfloat16_products() {
  return has_tile_products() || (has_bfloat16_products() && __builtin_cpu_is("amd") != 0);
}

#else

bool has_bfloat16_products() { return false; }

bool has_tile_products() { return false; }

bool has_fast_bfloat16_products() { return false; }

#endif

}  // namespace unfuse::cpu
