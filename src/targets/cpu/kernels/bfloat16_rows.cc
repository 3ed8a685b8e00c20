#include "targets/cpu/kernels/bfloat16_rows.h"

#include <algorithm>
#include <vector>

#include "targets/cpu/kernels/convert.h"
#include "targets/cpu/kernels/tile_product.h"
#include "targets/cpu/rounding.h"

namespace unfuse::cpu {
namespace {

/// Where the parts of a row begin; what the numbers leave free is zero.
struct Parts {
  Parts(float* row, std::int64_t count, std::int64_t parts) {
    const std::int64_t size = 2 * part_size(Packing::kPairs, count);
    for (std::int64_t part = 0; part < parts; ++part) {
      begin[part] = reinterpret_cast<std::uint16_t*>(row) + part * size;
      std::fill(begin[part] + count, begin[part] + size, std::uint16_t{0});
    }
  }
  std::uint16_t* begin[3] = {};
};

}  // namespace

std::int64_t part_size(Packing packing, std::int64_t count) {
  return packing == Packing::kFloat32 ? count : round_up(divide_up(count, 2), kTile);
}

std::int64_t input_row_size(Packing packing, std::int64_t count) {
  return part_size(packing, count) * (packing == Packing::kSplitPairs ? 3 : 1);
}

std::int64_t weight_row_size(Packing packing, std::int64_t count) {
  return part_size(packing, count) * (packing == Packing::kSplitPairs ? 2 : 1);
}

void store_input_row(Packing packing, const float* from, std::int64_t count, float* to) {
  if (packing == Packing::kPairs) {
    float32_to_bfloat16(from, Parts(to, count, 1).begin[0], count);
    return;
  }
  const Parts parts(to, count, 3);
  split_float32(from, parts.begin[0], parts.begin[1], parts.begin[2], count);
}

void store_weight_row(Packing packing, const float* from, std::int64_t count, float* to) {
  if (packing == Packing::kPairs) return store_input_row(packing, from, count, to);
  const Parts parts(to, count, 2);
  std::vector<std::uint16_t> all(static_cast<std::size_t>(count));
  std::uint16_t* finite = parts.begin[0];
  std::uint16_t* low = parts.begin[1];
  split_float32(from, all.data(), low, finite, count);
  for (std::int64_t i = 0; i < count; ++i) {
    if (all[static_cast<std::size_t>(i)] != finite[i]) low[i] = all[static_cast<std::size_t>(i)];
  }
}

}  // namespace unfuse::cpu
