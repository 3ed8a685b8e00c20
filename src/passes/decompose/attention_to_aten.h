// unfuse.attention written back as aten ops, for backends that know no op of ours.
#pragma once

#include <functional>

#include "ir/builder.h"

namespace unfuse::passes {

/// Builds what an unfuse.attention node stands for: aten.scaled_dot_product_attention where it says
/// the same, ops of the canonical dialect around it or instead of it where it does not.
/// Throws Error (kUnsupported) when it has to be spelled out and the head size is symbolic.
Value* attention_to_aten(Builder& builder, const Node& node);

/// The same in products and a softmax, always; in float32 where the query is of 16 bits.
Value* attention_to_products(Builder& builder, const Node& node);

/// Does the latter for every unfuse.attention of the graph.
void spell_out_attention(Graph& graph);

/// Does the former for every unfuse.attention of the graph that `which` names; null names all.
void write_back_attention(Graph& graph, const std::function<bool(const Node&)>& which = nullptr);

}  // namespace unfuse::passes
