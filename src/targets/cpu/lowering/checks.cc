#include "targets/cpu/lowering/checks.h"

#include <string>

namespace unfuse::cpu {
namespace {

Refusal refuse_dtype(const Value* value) {
  return std::string(dtype_name(value->dtype())) + " is not supported by this op";
}

}  // namespace

bool computes_in_float32(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

Refusal accept_float32(const Node& node) {
  for (const Value* value : node.operands()) {
    if (value->is_tensor() && !computes_in_float32(value->dtype())) return refuse_dtype(value);
  }
  for (const Value* value : node.results()) {
    if (value->is_tensor() && !computes_in_float32(value->dtype())) return refuse_dtype(value);
  }
  return std::nullopt;
}

Refusal require_default(const Node& node, std::string_view argument) {
  const int index = node.op().schema.index_of(argument);
  const SchemaArgument& schema = node.op().schema.arguments.at(static_cast<std::size_t>(index));
  if (node.argument(index) == schema.default_value) return std::nullopt;
  return "'" + std::string(argument) + "' = " + node.argument(index).to_string() +
         " is not supported";
}

Refusal first_refusal(std::initializer_list<Refusal> refusals) {
  for (const Refusal& refusal : refusals) {
    if (refusal) return refusal;
  }
  return std::nullopt;
}

}  // namespace unfuse::cpu
