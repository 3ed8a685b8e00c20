#include "ops/numbers_of_dtypes.h"

#include <limits>

namespace unfuse::ops {

double machine_epsilon(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return std::numeric_limits<double>::epsilon();
    case DType::kFloat16:
      return 0x1p-10;
    case DType::kBFloat16:
      return 0x1p-7;
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

double largest_number(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return std::numeric_limits<double>::max();
    case DType::kFloat16:
      return 65504;
    case DType::kBFloat16:
      return 0x1.fep127;
    default:
      return std::numeric_limits<float>::max();
  }
}

std::int64_t wrapped(std::int64_t number, DType dtype) {
  if (dtype == DType::kBool) return number != 0 ? 1 : 0;
  const int unused = 64 - 8 * static_cast<int>(dtype_size(dtype));
  const std::uint64_t shifted = static_cast<std::uint64_t>(number) << unused;
  const bool is_unsigned = dtype == DType::kUInt8 || dtype == DType::kUInt16 ||
                           dtype == DType::kUInt32 || dtype == DType::kUInt64;
  return is_unsigned ? static_cast<std::int64_t>(shifted >> unused)
                     : static_cast<std::int64_t>(shifted) >> unused;
}

}  // namespace unfuse::ops
