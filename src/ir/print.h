// The text form of a graph.
#pragma once

#include <string>

#include "ir/graph.h"

namespace unfuse {

struct PrintOptions {
  bool types = true;
  bool origins = false;
};

/// One line a node:
///   %linear: f32[2, s0, 512] = aten.linear.default(%x, %weight, %bias)
/// Arguments equal to their defaults are left out; later ones are then written as name=value.
/// Two graphs that print alike do the same.
std::string print(const Graph& graph, const PrintOptions& options = {});

}  // namespace unfuse
