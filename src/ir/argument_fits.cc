#include "ir/schema.h"

namespace unfuse {
namespace {

bool list_fits(const SchemaArgument& declared, const Argument& argument) {
  switch (declared.type) {
    case SchemaType::kTensor: {
      const auto* tensors = argument.get_if<Argument::Tensors>();
      if (tensors == nullptr) return false;
      for (const Value* value : *tensors) {
        if (value == nullptr && !declared.optional_elements) return false;
      }
      return true;
    }
    case SchemaType::kInt:
      return argument.holds<Argument::Ints>();
    case SchemaType::kFloat:
      return argument.holds<Argument::Floats>();
    case SchemaType::kBool:
      return argument.holds<Argument::Bools>();
    case SchemaType::kString:
      return argument.holds<Argument::Strings>();
    case SchemaType::kScalar:
      return argument.holds<Argument::Ints>() || argument.holds<Argument::Floats>();
    default:
      return false;
  }
}

}  // namespace

bool argument_fits(const SchemaArgument& declared, const Argument& argument) {
  if (argument.is_none()) return declared.optional;
  if (declared.type == SchemaType::kOther) return true;
  if (declared.list) return list_fits(declared, argument);
  switch (declared.type) {
    case SchemaType::kTensor:
      return argument.is_value();
    case SchemaType::kScalar:
      return argument.holds<Dim>() || argument.holds<double>() || argument.holds<bool>();
    case SchemaType::kInt:
      return argument.holds<Dim>();
    case SchemaType::kFloat:
      return argument.holds<double>();
    case SchemaType::kBool:
      return argument.holds<bool>();
    case SchemaType::kString:
      return argument.holds<std::string>();
    case SchemaType::kDType:
      return argument.holds<DType>();
    case SchemaType::kLayout:
      return argument.holds<Layout>();
    case SchemaType::kDevice:
      return argument.holds<Device>();
    case SchemaType::kMemoryFormat:
      return argument.holds<MemoryFormat>();
    default:
      return false;
  }
}

}  // namespace unfuse
