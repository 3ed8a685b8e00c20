#include "targets/cpu/target.h"

#include <cctype>

#include "targets/cpu/lowering/table.h"

namespace unfuse::cpu {
namespace {

/// The exporter names sizes that depend on data u0, u1, ...; those of inputs are s0, s1, ...
bool depends_on_data(const Dim& dim) {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  for (const std::string& name : names) {
    if (name.size() > 1 && name[0] == 'u' && std::isdigit(static_cast<unsigned char>(name[1]))) {
      return true;
    }
  }
  return false;
}

bool is_supported(DType dtype) {
  const bool is_float8 = is_floating_point(dtype) && dtype_size(dtype) == 1;
  return !is_complex(dtype) && !is_float8;
}

Refusal refuse_value(const Value* value) {
  if (value->is_none()) return std::nullopt;
  if (!value->is_tensor()) return "only tensors are supported, not " + to_string(value->type());
  const TensorType& type = value->tensor();
  if (type.device != "cpu") return "it runs on device " + type.device;
  if (!is_supported(type.dtype)) {
    return std::string(dtype_name(type.dtype)) + " is not supported by the CPU target";
  }
  for (const Dim& size : type.sizes) {
    if (depends_on_data(size)) return "its sizes depend on data";
  }
  return std::nullopt;
}

Refusal refuse_argument(const Argument& argument) {
  if (const auto* dim = argument.get_if<Dim>()) {
    if (depends_on_data(*dim)) return "an argument depends on data";
  }
  if (const auto* dims = argument.get_if<Argument::Ints>()) {
    for (const Dim& dim : *dims) {
      if (depends_on_data(dim)) return "an argument depends on data";
    }
  }
  return std::nullopt;
}

}  // namespace

bool CpuTarget::has(const Op& op) const { return find_lowering(op.id) != nullptr; }

std::optional<std::string> CpuTarget::refusal(const Node& node) const {
  const LoweringRow* row = find_lowering(node.id());
  if (row == nullptr) return "the CPU target has no " + node.op().name;
  for (const Value* operand : node.operands()) {
    if (Refusal refusal = refuse_value(operand)) return refusal;
  }
  for (const Value* result : node.results()) {
    if (Refusal refusal = refuse_value(result)) return refusal;
  }
  for (const Argument& argument : node.arguments()) {
    if (Refusal refusal = refuse_argument(argument)) return refusal;
  }
  return row->accepts(node);
}

}  // namespace unfuse::cpu
