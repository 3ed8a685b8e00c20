#include "cli/memory.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

namespace unfuse::cli {
namespace {

/// A line of /proc/self/status, "VmHWM:   1234 kB", in bytes.
std::optional<std::int64_t> status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(name + ":")) continue;
    return std::strtoll(line.c_str() + name.size() + 1, nullptr, 10) * 1024;
  }
  return std::nullopt;
}

/// Linux sets the peak back to what is resident when 5 is written here (proc(5)).
bool reset_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

}  // namespace

PeakMemory::PeakMemory() {
  if (!reset_peak()) return;
  resident_ = status_bytes("VmRSS");
  of_files_ = status_bytes("RssFile").value_or(0);
}

std::optional<std::int64_t> PeakMemory::grown() const {
  const std::optional<std::int64_t> peak = status_bytes("VmHWM");
  const std::optional<std::int64_t> of_files = status_bytes("RssFile");
  if (!resident_ || !peak || !of_files) return std::nullopt;
  return std::max<std::int64_t>(0, *peak - *resident_ - (*of_files - of_files_));
}

}  // namespace unfuse::cli
