// Tiles of a pointwise program made from a function of single elements.
#pragma once

#include <cstdint>

#include "targets/cpu/kernels/pointwise_functions.h"

namespace unfuse::cpu {

template <typename T, auto kFunction>
void tile2(const TileCall& call) {
  const auto* a = static_cast<const T*>(call.arguments[0]);
  const auto* b = static_cast<const T*>(call.arguments[1]);
  auto* result = static_cast<T*>(call.result);
  for (std::int64_t i = 0; i < call.count; ++i) result[i] = kFunction(a[i], b[i]);
}

template <typename T, auto kFunction>
void tile3(const TileCall& call) {
  const auto* a = static_cast<const T*>(call.arguments[0]);
  const auto* b = static_cast<const T*>(call.arguments[1]);
  const auto* c = static_cast<const T*>(call.arguments[2]);
  auto* result = static_cast<T*>(call.result);
  for (std::int64_t i = 0; i < call.count; ++i) result[i] = kFunction(a[i], b[i], c[i]);
}

}  // namespace unfuse::cpu
