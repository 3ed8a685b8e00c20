#include "pt2/value_export.h"

#include <cmath>

#include "pt2/tensor_meta.h"
#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

using nlohmann::ordered_json;

ordered_json kind(const char* name, ordered_json held) {
  ordered_json argument = ordered_json::object();
  argument[name] = std::move(held);
  return argument;
}

ordered_json export_float(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return number;
}

template <typename List, typename Export>
ordered_json export_list(const List& list, Export element) {
  ordered_json exported = ordered_json::array();
  for (const auto& held : list) exported.push_back(element(held));
  return exported;
}

ordered_json export_device(const Device& device) {
  const DeviceParts parts = device_parts(device);
  ordered_json exported = {{"type", parts.type}, {"index", nullptr}};
  if (parts.index) exported["index"] = *parts.index;
  return exported;
}

class Exporter {
 public:
  Exporter(const SchemaArgument* declared, const NameSource& names)
      : declared_(declared), names_(names) {}

  ordered_json operator()(std::monostate) const { return kind("as_none", true); }
  ordered_json operator()(Value* value) const { return export_name(*value, names_.value(value)); }
  ordered_json operator()(const Argument::Tensors& tensors) const {
    const auto named = [this](const Value* tensor) -> ordered_json {
      return {{"name", names_.value(tensor)}};
    };
    const bool optional = std::find(tensors.begin(), tensors.end(), nullptr) != tensors.end() ||
                          (declared_ != nullptr && declared_->optional_elements);
    if (!optional) return kind("as_tensors", export_list(tensors, named));
    return kind("as_optional_tensors",
                export_list(tensors, [&](const Value* tensor) -> ordered_json {
                  if (tensor == nullptr) return {{"as_none", true}};
                  return {{"as_tensor", named(tensor)}};
                }));
  }
  ordered_json operator()(const Dim& number) const {
    if (const auto value = number.constant()) return kind("as_int", *value);
    return kind("as_sym_int", {{"as_name", names_.number(number)}});
  }
  ordered_json operator()(const Argument::Ints& numbers) const {
    if (const auto values = constants(numbers)) return kind("as_ints", *values);
    return kind("as_sym_ints", export_list(numbers, [&](const Dim& number) -> ordered_json {
                  if (const auto value = number.constant()) return {{"as_int", *value}};
                  return {{"as_name", names_.number(number)}};
                }));
  }
  ordered_json operator()(double number) const { return kind("as_float", export_float(number)); }
  ordered_json operator()(const Argument::Floats& numbers) const {
    return kind("as_floats", export_list(numbers, export_float));
  }
  ordered_json operator()(bool flag) const { return kind("as_bool", flag); }
  ordered_json operator()(const Argument::Bools& flags) const { return kind("as_bools", flags); }
  ordered_json operator()(const std::string& text) const { return kind("as_string", text); }
  ordered_json operator()(const Argument::Strings& texts) const {
    return kind("as_strings", texts);
  }
  ordered_json operator()(DType dtype) const { return kind("as_scalar_type", dtype_number(dtype)); }
  ordered_json operator()(const Device& device) const {
    return kind("as_device", export_device(device));
  }
  ordered_json operator()(MemoryFormat format) const {
    return kind("as_memory_format", memory_format_number(format));
  }
  ordered_json operator()(Layout layout) const { return kind("as_layout", layout_number(layout)); }

 private:
  const SchemaArgument* declared_;
  const NameSource& names_;
};

}  // namespace

ordered_json export_argument(const Argument& argument, const SchemaArgument* declared,
                             const NameSource& names) {
  return std::visit(Exporter(declared, names), argument.held());
}

ordered_json export_tensor_meta(const TensorType& type, const SizeExporter& sizes,
                                bool requires_grad) {
  const auto exported = [&](const Dim& size) { return sizes.size(size); };
  ordered_json meta = ordered_json::object();
  meta["dtype"] = dtype_number(type.dtype);
  meta["sizes"] = export_list(type.sizes, exported);
  meta["requires_grad"] = requires_grad;
  meta["device"] = export_device(Device{type.device});
  meta["strides"] = export_list(type.strides, exported);
  meta["storage_offset"] = exported(type.storage_offset);
  meta["layout"] = layout_number(Layout::kStrided);
  return meta;
}

ordered_json export_name(const Value& value, const std::string& name) {
  const Type& type = value.type();
  if (std::holds_alternative<TensorType>(type)) return kind("as_tensor", {{"name", name}});
  if (std::holds_alternative<IntType>(type)) return kind("as_sym_int", {{"as_name", name}});
  if (std::holds_alternative<FloatType>(type)) return kind("as_sym_float", {{"as_name", name}});
  if (std::holds_alternative<BoolType>(type)) return kind("as_sym_bool", {{"as_name", name}});
  if (std::holds_alternative<NoneType>(type)) return kind("as_none", true);
  throw Error(ErrorKind::kUnsupported,
              "'" + name + "' is " + to_string(type) + ", which a new node cannot take or give");
}

}  // namespace unfuse::pt2
