#include "targets/cpu/lowering/checks.h"

#include <fmt/format.h>

#include "unfuse/error.h"

namespace unfuse::cpu {
namespace {

Refusal refuse_dtype(const Value* value) {
  return fmt::format("{} is not supported by this op", dtype_name(value->dtype()));
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
  return fmt::format("'{}' = {} is not supported", argument, node.argument(index).to_string());
}

View row_operand(LoweringContext& context, const Value* value, std::int64_t count) {
  View row = context.contiguous(context.view(value));
  if (row.numel() == count) return row;
  throw Error(ErrorKind::kInvalidArgument, fmt::format("%{} has {} elements, but {} are needed",
                                                       value->name(), row.numel(), count));
}

Refusal first_refusal(std::initializer_list<Refusal> refusals) {
  for (const Refusal& refusal : refusals) {
    if (refusal) return refusal;
  }
  return std::nullopt;
}

}  // namespace unfuse::cpu
