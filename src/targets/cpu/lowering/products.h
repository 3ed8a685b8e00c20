// The argument "products" of ops that multiply.
#pragma once

#include <string>

#include "ir/graph.h"
#include "targets/cpu/kernels/gemm.h"
#include "unfuse/error.h"

namespace unfuse::cpu {

/// Of an op without such an argument: float32.
inline Products products_of(const Node& node) {
  if (node.op().schema.index_of("products") < 0) return Products::kFloat32;
  const std::string& name = node.argument("products").string();
  if (name == "float32") return Products::kFloat32;
  if (name == "bfloat16") return bfloat16_products();
  if (name == "split") return Products::kSplitTiles;
  throw Error(ErrorKind::kInternal, "no products are named " + name);
}

}  // namespace unfuse::cpu
