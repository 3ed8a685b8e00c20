// Core ATen: the ops that torch asks of every backend, and that its own decompositions end in.
#pragma once

#include <span>
#include <string_view>

namespace unfuse::ops {

/// Whether torch tags the overload as core (torch.Tag.core).
bool is_core_aten(std::string_view op);

/// All of them, sorted.
std::span<const std::string_view> core_aten_ops();

}  // namespace unfuse::ops
