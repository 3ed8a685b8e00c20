#include "unfuse/dtype.h"

#include <iterator>

namespace unfuse {
namespace {

enum class Family { kInteger, kFloat, kComplex, kBool };

struct Row {
  DType dtype;
  std::string_view name;
  std::size_t size;
  Family family;
};

// In the order of DType, so that a dtype is its row's index.
constexpr Row kRows[] = {
    {DType::kUInt8, "uint8", 1, Family::kInteger},
    {DType::kInt8, "int8", 1, Family::kInteger},
    {DType::kInt16, "int16", 2, Family::kInteger},
    {DType::kInt32, "int32", 4, Family::kInteger},
    {DType::kInt64, "int64", 8, Family::kInteger},
    {DType::kFloat16, "float16", 2, Family::kFloat},
    {DType::kFloat32, "float32", 4, Family::kFloat},
    {DType::kFloat64, "float64", 8, Family::kFloat},
    {DType::kComplex32, "complex32", 4, Family::kComplex},
    {DType::kComplex64, "complex64", 8, Family::kComplex},
    {DType::kComplex128, "complex128", 16, Family::kComplex},
    {DType::kBool, "bool", 1, Family::kBool},
    {DType::kBFloat16, "bfloat16", 2, Family::kFloat},
    {DType::kUInt16, "uint16", 2, Family::kInteger},
    {DType::kUInt32, "uint32", 4, Family::kInteger},
    {DType::kUInt64, "uint64", 8, Family::kInteger},
    {DType::kFloat8E4M3FN, "float8_e4m3fn", 1, Family::kFloat},
    {DType::kFloat8E5M2, "float8_e5m2", 1, Family::kFloat},
    {DType::kFloat8E4M3FNUZ, "float8_e4m3fnuz", 1, Family::kFloat},
    {DType::kFloat8E5M2FNUZ, "float8_e5m2fnuz", 1, Family::kFloat},
    {DType::kFloat8E8M0FNU, "float8_e8m0fnu", 1, Family::kFloat},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<std::size_t>(kRows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(in_order());

const Row& row(DType dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::string_view dtype_name(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const Row& candidate : kRows) {
    if (candidate.name == name) return candidate.dtype;
  }
  return std::nullopt;
}

std::size_t dtype_size(DType dtype) { return row(dtype).size; }
bool is_floating_point(DType dtype) { return row(dtype).family == Family::kFloat; }
bool is_complex(DType dtype) { return row(dtype).family == Family::kComplex; }
bool is_integer(DType dtype) { return row(dtype).family == Family::kInteger; }

}  // namespace unfuse
