// What the matchers of this folder ask of a value.
#pragma once

#include <initializer_list>
#include <string_view>

#include "ir/graph.h"

namespace unfuse::cpu {

/// The one node that reads the value, in one argument; null when others do, or an output is it.
Node* only_reader(const Value* value);

/// Whether the node's op is one of these.
bool is_any(const Node& node, std::initializer_list<std::string_view> ops);

/// A float32 tensor: what the target's fused ops compute in.
bool is_float32(const Value* value);

/// add.Tensor of two float32 tensors, as they are.
bool is_plain_sum(const Node& node);

/// The other operand of a plain sum of two float32 tensors, all three of the same sizes; null when
/// the node is no such sum.
Value* added_to(const Value* operand, const Node& sum);

/// Puts a node with one result in the place of `replaced`, right before it, and takes the result's
/// name and type over. `replaced` stays, unused.
Value* replace_node(Graph& graph, Node* replaced, std::string_view op, Arguments arguments,
                    const Origin& origin);

}  // namespace unfuse::cpu
