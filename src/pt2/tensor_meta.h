// Types as torch.export records them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/argument.h"
#include "ir/type.h"
#include "pt2/json_reading.h"
#include "pt2/symbol_table.h"

namespace unfuse::pt2 {

/// The element type of torch._export's number; fails naming the number when it is unknown.
DType read_dtype(const Json& number);
Device read_device(const Json& device);
Layout read_layout(const Json& number);
MemoryFormat read_memory_format(const Json& number);

/// The inverse of each. Throws Error (kUnsupported) on a layout that the file's numbers are not
/// known of.
std::int64_t dtype_number(DType dtype);
std::int64_t layout_number(Layout layout);
std::int64_t memory_format_number(MemoryFormat format);
struct DeviceParts {
  std::string type;  ///< "cuda"
  std::optional<std::int64_t> index;
};
DeviceParts device_parts(const Device& device);

/// A recorded tensor: a TensorType, or an OpaqueType when its layout is not strided. Sizes whose
/// byte count does not fit 64 bits, negative sizes, strides and offsets fail.
Type read_tensor_meta(const Json& meta, SymbolTable& symbols);

}  // namespace unfuse::pt2
