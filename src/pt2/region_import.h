// Regions of a program that run in a mode of torch's, which are part of the graph for us.
#pragma once

#include <optional>
#include <string>

#include "pt2/json_reading.h"

namespace unfuse::pt2 {

/// A node that calls a graph of its own.
struct Region {
  Json graph;
  std::size_t first_operand = 0;  ///< the node's inputs from here on are the graph's inputs
};

/// The region of a node whose mode changes nothing here: gradients on or off, and autocast switched
/// off. Empty for any other node, and for autocast that is on, which changes dtypes.
std::optional<Region> transparent_region(const std::string& target, const Json& inputs);

}  // namespace unfuse::pt2
