#include "ir/type.h"

namespace unfuse {
namespace {

// Short names, as PyTorch's own graph printers write them.
std::string short_dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
      return "u8";
    case DType::kInt8:
      return "i8";
    case DType::kInt16:
      return "i16";
    case DType::kInt32:
      return "i32";
    case DType::kInt64:
      return "i64";
    case DType::kFloat16:
      return "f16";
    case DType::kFloat32:
      return "f32";
    case DType::kFloat64:
      return "f64";
    case DType::kBool:
      return "b8";
    case DType::kBFloat16:
      return "bf16";
    default:
      return std::string(dtype_name(dtype));
  }
}

std::string join(const std::vector<Dim>& dims) {
  std::string text;
  for (const Dim& dim : dims) {
    if (!text.empty()) text += ", ";
    text += dim.to_string();
  }
  return text;
}

}  // namespace

bool TensorType::is_contiguous() const {
  const std::vector<Dim> expected = contiguous_strides(sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool never_stepped = sizes[i] == Dim(1);
    if (!never_stepped && strides[i] != expected[i]) return false;
  }
  return true;
}

TensorType TensorType::contiguous(DType dtype, std::vector<Dim> sizes) {
  TensorType type;
  type.dtype = dtype;
  type.strides = contiguous_strides(sizes);
  type.sizes = std::move(sizes);
  return type;
}

std::vector<Dim> contiguous_strides(const std::vector<Dim>& sizes) {
  std::vector<Dim> strides(sizes.size());
  Dim stride(1);
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    // A dimension of size 0 counts as 1, as in PyTorch.
    if (sizes[i] != Dim(0)) stride *= sizes[i];
  }
  return strides;
}

std::string to_string(const TensorType& type) {
  std::string text = short_dtype_name(type.dtype) + "[" + join(type.sizes) + "]";
  if (!type.is_contiguous()) text += " strides [" + join(type.strides) + "]";
  if (type.storage_offset != Dim(0)) text += " offset " + type.storage_offset.to_string();
  if (type.device != "cpu") text += " on " + type.device;
  return text;
}

std::string to_string(const Type& type) {
  if (const auto* tensor = std::get_if<TensorType>(&type)) return to_string(*tensor);
  if (const auto* integer = std::get_if<IntType>(&type)) {
    return "int(" + integer->value.to_string() + ")";
  }
  if (std::holds_alternative<FloatType>(type)) return "float";
  if (std::holds_alternative<BoolType>(type)) return "bool";
  if (const auto* opaque = std::get_if<OpaqueType>(&type)) return "opaque(" + opaque->text + ")";
  return "None";
}

bool same_type(const TensorType& left, const TensorType& right, bool compare_strides) {
  if (left.dtype != right.dtype || left.sizes != right.sizes || left.device != right.device) {
    return false;
  }
  return !compare_strides ||
         (left.strides == right.strides && left.storage_offset == right.storage_offset);
}

}  // namespace unfuse
