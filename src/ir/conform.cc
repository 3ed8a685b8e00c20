#include <algorithm>

#include "ir/graph.h"
#include "ir/schema.h"

namespace unfuse {
namespace {

template <typename T>
bool holds_type(const Argument& argument) {
  const auto* value = argument.get_if<Value*>();
  return value != nullptr && (std::holds_alternative<T>((*value)->type()) ||
                              std::holds_alternative<OpaqueType>((*value)->type()));
}

bool is_number(const Argument& argument) {
  return argument.holds<Dim>() || argument.holds<double>() || argument.holds<bool>();
}

bool is_empty_list(const Argument& argument) {
  const auto empty = [&]<typename... Lists>() {
    return ((argument.get_if<Lists>() != nullptr && argument.get_if<Lists>()->empty()) || ...);
  };
  return empty.operator()<Argument::Tensors, Argument::Ints, Argument::Floats, Argument::Bools,
                          Argument::Strings>();
}

/// The argument as a tensor, if it is one. Where torch takes a number for a tensor, as in
/// aten.add.Tensor(x, 2), it stays a number.
std::optional<Argument> conform_tensor(const Argument& argument, bool numbers_allowed) {
  if (holds_type<TensorType>(argument)) return argument;
  if (numbers_allowed && is_number(argument)) return argument;
  return std::nullopt;
}

std::optional<Argument> conform_int(const Argument& argument) {
  if (argument.holds<Dim>() || holds_type<IntType>(argument)) return argument;
  if (argument.holds<bool>()) return Argument(Dim(argument.integer()));
  return std::nullopt;
}

std::optional<Argument> conform_float(const Argument& argument) {
  if (argument.holds<double>() || holds_type<FloatType>(argument)) return argument;
  if (argument.is_constant_scalar()) return Argument(argument.number());
  return std::nullopt;
}

std::optional<Argument> conform_bool(const Argument& argument) {
  if (argument.holds<bool>() || holds_type<BoolType>(argument)) return argument;
  const auto* dim = argument.get_if<Dim>();
  if (dim != nullptr && (*dim == Dim(0) || *dim == Dim(1))) return Argument(*dim == Dim(1));
  return std::nullopt;
}

std::optional<Argument> conform_scalar(const Argument& argument) {
  if (is_number(argument)) return argument;
  if (holds_type<IntType>(argument) || holds_type<FloatType>(argument) ||
      holds_type<BoolType>(argument)) {
    return argument;
  }
  return std::nullopt;
}

std::optional<Argument> conform_device(const Argument& argument) {
  if (argument.holds<Device>()) return argument;
  if (argument.holds<std::string>()) return Argument(Device{argument.string()});
  return std::nullopt;
}

template <typename T>
std::optional<Argument> only(const Argument& argument) {
  return argument.holds<T>() ? std::optional(argument) : std::nullopt;
}

std::optional<Argument> conform_one(SchemaType type, const Argument& argument,
                                    bool numbers_allowed) {
  switch (type) {
    case SchemaType::kTensor:
      return conform_tensor(argument, numbers_allowed);
    case SchemaType::kScalar:
      return conform_scalar(argument);
    case SchemaType::kInt:
      return conform_int(argument);
    case SchemaType::kFloat:
      return conform_float(argument);
    case SchemaType::kBool:
      return conform_bool(argument);
    case SchemaType::kString:
      return only<std::string>(argument);
    case SchemaType::kDType:
      return only<DType>(argument);
    case SchemaType::kLayout:
      return only<Layout>(argument);
    case SchemaType::kDevice:
      return conform_device(argument);
    case SchemaType::kMemoryFormat:
      return only<MemoryFormat>(argument);
    case SchemaType::kGenerator:
    case SchemaType::kOther:
      return argument;
  }
  return std::nullopt;
}

std::optional<Argument> conform_tensors(const Argument& argument, bool absent_allowed) {
  const auto* tensors = argument.get_if<Argument::Tensors>();
  if (tensors == nullptr) return std::nullopt;
  for (Value* tensor : *tensors) {
    const bool fits = tensor == nullptr ? absent_allowed : holds_type<TensorType>(tensor);
    if (!fits) return std::nullopt;
  }
  return argument;
}

std::size_t repeats(const SchemaArgument& declared) {
  return static_cast<std::size_t>(std::max(declared.list_size, 1));
}

std::optional<Argument> conform_ints(const SchemaArgument& declared, const Argument& argument) {
  if (argument.holds<Argument::Ints>()) return argument;
  if (!argument.holds<Dim>()) return std::nullopt;
  return Argument(Argument::Ints(repeats(declared), argument.dim()));
}

std::optional<Argument> conform_floats(const SchemaArgument& declared, const Argument& argument) {
  if (argument.holds<Argument::Floats>()) return argument;
  if (argument.is_constant_scalar()) {
    return Argument(Argument::Floats(repeats(declared), argument.number()));
  }
  const auto* dims = argument.get_if<Argument::Ints>();
  const auto integers = dims == nullptr ? std::nullopt : constants(*dims);
  if (!integers) return std::nullopt;
  return Argument(Argument::Floats(integers->begin(), integers->end()));
}

std::optional<Argument> conform_bools(const SchemaArgument& declared, const Argument& argument) {
  if (argument.holds<Argument::Bools>()) return argument;
  if (!argument.holds<bool>()) return std::nullopt;
  return Argument(Argument::Bools(repeats(declared), argument.boolean()));
}

std::optional<Argument> conform_scalars(const Argument& argument) {
  const bool numbers = argument.holds<Argument::Ints>() || argument.holds<Argument::Floats>() ||
                       argument.holds<Argument::Bools>();
  return numbers ? std::optional(argument) : std::nullopt;
}

Argument empty_list(SchemaType type) {
  switch (type) {
    case SchemaType::kTensor:
      return Argument::Tensors();
    case SchemaType::kFloat:
      return Argument::Floats();
    case SchemaType::kBool:
      return Argument::Bools();
    case SchemaType::kString:
      return Argument::Strings();
    default:
      return Argument::Ints();
  }
}

std::optional<Argument> conform_list(const SchemaArgument& declared, const Argument& argument) {
  if (is_empty_list(argument)) return empty_list(declared.type);
  switch (declared.type) {
    case SchemaType::kTensor:
      return conform_tensors(argument, declared.optional_elements);
    case SchemaType::kInt:
      return conform_ints(declared, argument);
    case SchemaType::kFloat:
      return conform_floats(declared, argument);
    case SchemaType::kBool:
      return conform_bools(declared, argument);
    case SchemaType::kString:
      return only<Argument::Strings>(argument);
    case SchemaType::kScalar:
      return conform_scalars(argument);
    default:
      return argument;
  }
}

}  // namespace

std::optional<Argument> conform_argument(const SchemaArgument& declared, const Argument& argument,
                                         bool number_for_tensor) {
  if (argument.is_none()) {
    const bool allowed = declared.optional || declared.type == SchemaType::kGenerator ||
                         declared.type == SchemaType::kOther ||
                         (declared.has_default && declared.default_value.is_none());
    return allowed ? std::optional(argument) : std::nullopt;
  }
  if (declared.list) return conform_list(declared, argument);
  return conform_one(declared.type, argument, number_for_tensor && !declared.mutated);
}

}  // namespace unfuse
