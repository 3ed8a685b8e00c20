// How much memory this process holds.
#pragma once

#include <cstdint>
#include <optional>

namespace unfuse::cli {

/// Measures the peak of resident memory from when this is made on. Pages of mapped files are left
/// out: weights that are read in place.
class PeakMemory {
 public:
  PeakMemory();
  /// Bytes at the peak above what there was at first; empty where the system does not tell.
  std::optional<std::int64_t> grown() const;

 private:
  std::optional<std::int64_t> resident_;  ///< at first; empty when the peak cannot be reset
  std::int64_t of_files_ = 0;
};

}  // namespace unfuse::cli
