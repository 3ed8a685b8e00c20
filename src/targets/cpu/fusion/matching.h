// What the matchers of this folder ask of a value, and how they put another in its place.
#pragma once

#include <initializer_list>
#include <string_view>

#include "ir/builder.h"
#include "ir/graph.h"

namespace unfuse::cpu {

/// The one node that reads the value, in one argument; null when others do, or an output is it.
Node* only_reader(const Value* value);

/// Whether the node's op is one of these.
bool is_any(const Node& node, std::initializer_list<std::string_view> ops);

/// aten.linear, or unfuse.linear that nothing was fused into.
bool is_linear(const Node& node);

/// The same layer of other operands.
Value* linear_like(Builder& builder, const Node& layer, const Argument& input,
                   const Argument& weight, const Argument& bias);

/// A float32 tensor: what the target's fused ops compute in.
bool is_float32(const Value* value);

/// add.Tensor of two float32 tensors, as they are.
bool is_plain_sum(const Node& node);

/// The other operand of a plain sum of two float32 tensors, all three of the same sizes; null when
/// the node is no such sum.
Value* added_to(const Value* operand, const Node& sum);

/// Whoever reads the node's one result reads `by`, which takes the result's name over unless it is
/// an input of the graph. The node is erased.
void replace_by(Graph& graph, Node* replaced, Value* by);

/// The same by a new node, made right before `replaced`, with the same type of result.
void replace_by_node(Graph& graph, Node* replaced, std::string_view op, Arguments arguments,
                     const Origin& origin);

}  // namespace unfuse::cpu
