#include "targets/cpu/kernels/panel_pack.h"

#include <algorithm>
#include <cstring>

#include "targets/cpu/kernels/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "targets/cpu/kernels/panel_pack.cc"
#include "hwy/foreach_target.h"
#include "targets/cpu/kernels/transpose-inl.h"
#include "targets/cpu/rounding.h"

HWY_BEFORE_NAMESPACE();
namespace unfuse::cpu::HWY_NAMESPACE {

void transpose_here(const float* from, std::int64_t from_stride, std::int64_t rows,
                    std::int64_t columns, float* to, std::int64_t to_stride) {
  transpose(from, from_stride, rows, columns, to, to_stride);
}

}  // namespace unfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfuse::cpu {
namespace {

HWY_EXPORT(transpose_here);

}  // namespace

PanelLayout::PanelLayout(std::int64_t depth, std::int64_t columns)
    : depth_(depth),
      columns_(columns),
      vectors_(divide_up(columns, functions_.vector)),
      panels_(divide_up(columns, functions_.width)) {}

std::int64_t PanelLayout::first_column(std::int64_t panel) const {
  return vectors_ * panel / panels_ * functions_.vector;
}

std::int64_t PanelLayout::row_stride(std::int64_t panel) const {
  return first_column(panel + 1) - first_column(panel);
}

std::int64_t PanelLayout::columns_of(std::int64_t panel) const {
  return std::min(first_column(panel + 1), columns_) - first_column(panel);
}

std::int64_t PanelLayout::largest_panel() const {
  return panels_ == 0 ? 0 : divide_up(vectors_, panels_) * functions_.vector * depth_;
}

void PanelLayout::pack(std::int64_t panel, const StridedMatrix& from, float* to) const {
  const std::int64_t stride = row_stride(panel);
  const std::int64_t used = columns_of(panel);
  const float* first = from.data + first_column(panel) * from.column_stride;
  if (from.column_stride == 1) {
    for (std::int64_t k = 0; k < depth_; ++k) {
      std::memcpy(to + k * stride, first + k * from.depth_stride,
                  static_cast<std::size_t>(used) * sizeof(float));
    }
  } else if (from.depth_stride == 1) {
    HWY_DYNAMIC_DISPATCH(transpose_here)(first, from.column_stride, used, depth_, to, stride);
  } else {
    for (std::int64_t k = 0; k < depth_; ++k) {
      for (std::int64_t n = 0; n < used; ++n) {
        to[k * stride + n] = first[k * from.depth_stride + n * from.column_stride];
      }
    }
  }
  if (used == stride) return;
  for (std::int64_t k = 0; k < depth_; ++k) {
    std::fill(to + k * stride + used, to + (k + 1) * stride, 0.0F);
  }
}

}  // namespace unfuse::cpu
#endif
