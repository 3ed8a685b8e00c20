// Ops with several operands, each result a view of one of them. Schemas do not mark them as
// aliasing.
#include <utility>

#include "passes/canonical.h"
#include "passes/views.h"

namespace unfuse::passes {
namespace {

std::vector<Value*> broadcast_tensors(Builder& builder, const Node& node) {
  const Argument::Tensors& tensors = node.argument(0).tensors();
  std::vector<Value*> views;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    views.push_back(expand(builder, tensors[i], node.results().at(i)->sizes()));
  }
  return views;
}

// The i-th tensor runs along the i-th dimension of each grid.
std::vector<Value*> meshgrid(Builder& builder, const Node& node) {
  const Argument::Tensors& tensors = node.argument(0).tensors();
  const bool columns_first = node.arguments().size() > 1 && node.argument(1).string() == "xy";
  std::vector<Value*> views;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::vector<Dim>& sizes = node.results().at(i)->sizes();
    const std::size_t along = columns_first && i < 2 && tensors.size() > 1 ? 1 - i : i;
    std::vector<Dim> line(sizes.size(), Dim(1));
    line[along] = sizes[along];
    views.push_back(expand(builder, reshape(builder, tensors[i], line), sizes));
  }
  return views;
}

}  // namespace

std::vector<Value*> views_of_several(Builder& builder, const Node& node) {
  if (node.is("aten.broadcast_tensors.default")) return broadcast_tensors(builder, node);
  if (node.is("aten.meshgrid.default") || node.is("aten.meshgrid.indexing")) {
    return meshgrid(builder, node);
  }
  return {};
}

}  // namespace unfuse::passes
