// The directory of a zip file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pt2/mapped_file.h"

namespace unfuse::pt2 {

struct ZipEntry {
  std::string name;
  std::uint64_t offset = 0;  ///< of the first byte of data, from the start of the file
  std::uint64_t size = 0;    ///< bytes in the file
  std::uint32_t checksum = 0;
  bool stored = true;  ///< neither compressed nor encrypted
};

/// All members but directories, in the directory's order, each within the file. Throws Error
/// (kInvalidFile) when the file is no zip file, is truncated, or holds a name that leads outside.
std::vector<ZipEntry> read_zip_directory(const MappedFile& file);

}  // namespace unfuse::pt2
