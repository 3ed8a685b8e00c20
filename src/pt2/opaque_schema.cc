#include "pt2/opaque_schema.h"

#include "ir/graph.h"

namespace unfuse::pt2 {
namespace {

template <typename... Lists>
bool holds_any(const Argument& argument) {
  return (argument.holds<Lists>() || ...);
}

bool is_list(const Argument& argument) {
  return holds_any<Argument::Tensors, Argument::Ints, Argument::Floats, Argument::Bools,
                   Argument::Strings>(argument);
}

bool all_tensors(const Argument::Tensors& values) {
  for (const Value* value : values) {
    if (value != nullptr && !value->is_tensor()) return false;
  }
  return true;
}

SchemaType type_of(const Argument& argument) {
  if (argument.is_value()) {
    return argument.value()->is_tensor() ? SchemaType::kTensor : SchemaType::kOther;
  }
  if (const auto* values = argument.get_if<Argument::Tensors>()) {
    return all_tensors(*values) ? SchemaType::kTensor : SchemaType::kOther;
  }
  if (holds_any<Dim, Argument::Ints>(argument)) return SchemaType::kInt;
  if (holds_any<double, Argument::Floats>(argument)) return SchemaType::kFloat;
  if (holds_any<bool, Argument::Bools>(argument)) return SchemaType::kBool;
  if (holds_any<std::string, Argument::Strings>(argument)) return SchemaType::kString;
  if (argument.holds<DType>()) return SchemaType::kDType;
  if (argument.holds<Layout>()) return SchemaType::kLayout;
  if (argument.holds<Device>()) return SchemaType::kDevice;
  if (argument.holds<MemoryFormat>()) return SchemaType::kMemoryFormat;
  return SchemaType::kOther;
}

SchemaType type_of(const Type& type) {
  if (std::holds_alternative<TensorType>(type) || std::holds_alternative<NoneType>(type)) {
    return SchemaType::kTensor;
  }
  if (std::holds_alternative<IntType>(type)) return SchemaType::kInt;
  if (std::holds_alternative<FloatType>(type)) return SchemaType::kFloat;
  if (std::holds_alternative<BoolType>(type)) return SchemaType::kBool;
  return SchemaType::kOther;
}

}  // namespace

void OpaqueSchema::add_argument(const std::string& name, bool keyword_only,
                                const Argument& argument) {
  SchemaArgument declared;
  declared.name = name.empty() ? "argument_" + std::to_string(schema_.arguments.size()) : name;
  declared.type = type_of(argument);
  declared.list = is_list(argument);
  declared.optional = true;
  declared.optional_elements = declared.list && declared.type == SchemaType::kTensor;
  declared.keyword_only = keyword_only;
  schema_.arguments.push_back(std::move(declared));
}

void OpaqueSchema::add_return(const Type& type) {
  SchemaReturn declared;
  declared.type = type_of(type);
  schema_.returns.push_back(std::move(declared));
}

}  // namespace unfuse::pt2
