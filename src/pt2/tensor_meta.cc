#include "pt2/tensor_meta.h"

#include <algorithm>

#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

constexpr std::size_t kLargestRank = 64;  // torch's own limit
// Terms that the product of all sizes may have; multiplied out, sums of symbols grow exponentially.
constexpr std::size_t kLargestProduct = 4096;

// torch._export's numbers.
struct DTypeNumber {
  std::int64_t number;
  DType dtype;
};
constexpr DTypeNumber kDTypes[] = {
    {1, DType::kUInt8},           {2, DType::kInt8},
    {3, DType::kInt16},           {4, DType::kInt32},
    {5, DType::kInt64},           {6, DType::kFloat16},
    {7, DType::kFloat32},         {8, DType::kFloat64},
    {9, DType::kComplex32},       {10, DType::kComplex64},
    {11, DType::kComplex128},     {12, DType::kBool},
    {13, DType::kBFloat16},       {28, DType::kUInt16},
    {29, DType::kFloat8E4M3FN},   {30, DType::kFloat8E5M2},
    {31, DType::kFloat8E4M3FNUZ}, {32, DType::kFloat8E5M2FNUZ},
    {33, DType::kFloat8E8M0FNU},  {34, DType::kUInt32},
    {35, DType::kUInt64},
};

struct MemoryFormatNumber {
  std::int64_t number;
  MemoryFormat format;
};
constexpr MemoryFormatNumber kMemoryFormats[] = {
    {1, MemoryFormat::kContiguous},
    {2, MemoryFormat::kChannelsLast},
    {3, MemoryFormat::kChannelsLast3d},
    {4, MemoryFormat::kPreserve},
};

constexpr std::int64_t kSparseCooNumber = 1;
constexpr std::int64_t kStridedNumber = 7;

std::vector<Dim> read_extents(const Json& list, SymbolTable& symbols) {
  std::vector<Dim> extents;
  if (list.size() > kLargestRank) list.fail("more than 64 dimensions");
  for (std::size_t i = 0; i < list.size(); ++i) {
    extents.push_back(symbols.read_extent(list.at(i)));
  }
  return extents;
}

// Everybody multiplies sizes sooner or later; whoever does may rely on this.
void check_byte_count(const Json& meta, const TensorType& type) {
  std::size_t terms = 1;
  for (const Dim& size : type.sizes) {
    terms *= std::max<std::size_t>(size.term_count(), 1);
    if (terms > kLargestProduct) meta.at("sizes").fail("the sizes are too complicated");
  }
  try {
    (void)contiguous_strides(type.sizes);
    (void)(type.numel() * Dim(static_cast<std::int64_t>(dtype_size(type.dtype))));
  } catch (const Error&) {
    meta.at("sizes").fail("the sizes overflow: their byte count does not fit 64 bits");
  }
}

}  // namespace

DType read_dtype(const Json& number) {
  const std::int64_t wanted = number.integer();
  for (const DTypeNumber& row : kDTypes) {
    if (row.number == wanted) return row.dtype;
  }
  number.fail("unknown element type " + std::to_string(wanted));
}

std::int64_t dtype_number(DType dtype) {
  for (const DTypeNumber& row : kDTypes) {
    if (row.dtype == dtype) return row.number;
  }
  throw Error(ErrorKind::kInternal, std::string("a file cannot hold ") + dtype_name(dtype).data());
}

Device read_device(const Json& device) {
  Device read{device.at("type").string()};
  if (const auto index = device.find("index")) {
    read.text += ':';
    read.text += std::to_string(index->integer());
  }
  return read;
}

DeviceParts device_parts(const Device& device) {
  const std::size_t colon = device.text.find(':');
  if (colon == std::string::npos) return {device.text, std::nullopt};
  return {device.text.substr(0, colon), std::stoll(device.text.substr(colon + 1))};
}

Layout read_layout(const Json& number) {
  switch (number.integer()) {
    case kSparseCooNumber:
      return Layout::kSparseCoo;
    case kStridedNumber:
      return Layout::kStrided;
    default:
      return Layout::kOther;
  }
}

std::int64_t layout_number(Layout layout) {
  if (layout == Layout::kSparseCoo) return kSparseCooNumber;
  if (layout == Layout::kStrided) return kStridedNumber;
  throw Error(ErrorKind::kUnsupported, "a layout that is neither strided nor sparse");
}

MemoryFormat read_memory_format(const Json& number) {
  const std::int64_t wanted = number.integer();
  for (const MemoryFormatNumber& row : kMemoryFormats) {
    if (row.number == wanted) return row.format;
  }
  number.fail("unknown memory format " + std::to_string(wanted));
}

std::int64_t memory_format_number(MemoryFormat format) {
  for (const MemoryFormatNumber& row : kMemoryFormats) {
    if (row.format == format) return row.number;
  }
  throw Error(ErrorKind::kInternal, "an unknown memory format");
}

Type read_tensor_meta(const Json& meta, SymbolTable& symbols) {
  if (read_layout(meta.at("layout")) != Layout::kStrided) {
    return OpaqueType{"a tensor of layout number " + std::to_string(meta.at("layout").integer())};
  }
  TensorType type;
  type.dtype = read_dtype(meta.at("dtype"));
  type.sizes = read_extents(meta.at("sizes"), symbols);
  type.strides = read_extents(meta.at("strides"), symbols);
  if (type.sizes.size() != type.strides.size()) {
    meta.fail("as many strides as sizes are wanted");
  }
  type.storage_offset = symbols.read_extent(meta.at("storage_offset"));
  type.device = read_device(meta.at("device")).text;
  check_byte_count(meta, type);
  return type;
}

}  // namespace unfuse::pt2
