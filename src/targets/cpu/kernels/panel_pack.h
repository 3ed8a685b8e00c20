// The layout of a matrix [depth, columns] in panels, as panel_gemm.h reads them.
#pragma once

#include <cstdint>

#include "targets/cpu/kernels/panel_gemm.h"

namespace unfuse::cpu {

/// Element (k, n) lies at data[k * depth_stride + n * column_stride].
struct StridedMatrix {
  const float* data = nullptr;
  std::int64_t depth_stride = 0;
  std::int64_t column_stride = 0;
};

/// Panels one after the other, each a list of rows of whole vectors. Their widths are nearly equal:
/// a narrow one has too few sums to keep the machine busy.
class PanelLayout {
 public:
  PanelLayout(std::int64_t depth, std::int64_t columns);

  /// Those that read this layout: of the instruction set that was best when it was made.
  const PanelFunctions& functions() const { return functions_; }
  std::int64_t depth() const { return depth_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t panels() const { return panels_; }
  std::int64_t first_column(std::int64_t panel) const;
  /// Without those that fill up the last vector.
  std::int64_t columns_of(std::int64_t panel) const;
  /// Elements from one row of the panel to the next.
  std::int64_t row_stride(std::int64_t panel) const;
  /// Of the panel's first element.
  std::int64_t offset(std::int64_t panel) const { return first_column(panel) * depth_; }
  /// Elements of all panels.
  std::int64_t size() const { return vectors_ * functions_.vector * depth_; }
  /// Elements of the largest one.
  std::int64_t largest_panel() const;

  /// Packs one panel; `from` is the whole matrix, `to` the panel's first element.
  void pack(std::int64_t panel, const StridedMatrix& from, float* to) const;

 private:
  PanelFunctions functions_ = panel_functions();
  std::int64_t depth_;
  std::int64_t columns_;
  std::int64_t vectors_;
  std::int64_t panels_;
};

}  // namespace unfuse::cpu
