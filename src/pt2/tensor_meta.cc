#include "pt2/tensor_meta.h"

#include <algorithm>

#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

constexpr std::size_t kLargestRank = 64;  // torch's own limit
// Terms that the product of all sizes may have; multiplied out, sums of symbols grow exponentially.
constexpr std::size_t kLargestProduct = 4096;

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
  switch (number.integer()) {
    case 1:
      return DType::kUInt8;
    case 2:
      return DType::kInt8;
    case 3:
      return DType::kInt16;
    case 4:
      return DType::kInt32;
    case 5:
      return DType::kInt64;
    case 6:
      return DType::kFloat16;
    case 7:
      return DType::kFloat32;
    case 8:
      return DType::kFloat64;
    case 9:
      return DType::kComplex32;
    case 10:
      return DType::kComplex64;
    case 11:
      return DType::kComplex128;
    case 12:
      return DType::kBool;
    case 13:
      return DType::kBFloat16;
    case 28:
      return DType::kUInt16;
    case 29:
      return DType::kFloat8E4M3FN;
    case 30:
      return DType::kFloat8E5M2;
    case 31:
      return DType::kFloat8E4M3FNUZ;
    case 32:
      return DType::kFloat8E5M2FNUZ;
    case 33:
      return DType::kFloat8E8M0FNU;
    case 34:
      return DType::kUInt32;
    case 35:
      return DType::kUInt64;
    default:
      number.fail("unknown element type " + std::to_string(number.integer()));
  }
}

Device read_device(const Json& device) {
  Device read{device.at("type").string()};
  if (const auto index = device.find("index")) {
    read.text += ':';
    read.text += std::to_string(index->integer());
  }
  return read;
}

Layout read_layout(const Json& number) {
  switch (number.integer()) {
    case 1:
      return Layout::kSparseCoo;
    case 7:
      return Layout::kStrided;
    default:
      return Layout::kOther;
  }
}

MemoryFormat read_memory_format(const Json& number) {
  switch (number.integer()) {
    case 1:
      return MemoryFormat::kContiguous;
    case 2:
      return MemoryFormat::kChannelsLast;
    case 3:
      return MemoryFormat::kChannelsLast3d;
    case 4:
      return MemoryFormat::kPreserve;
    default:
      number.fail("unknown memory format " + std::to_string(number.integer()));
  }
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
