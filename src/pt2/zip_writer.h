// Writes zip files as torch.export.save does: members stored as they are, their data aligned.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/archive_directory.h"
#include "pt2/mapped_file.h"

namespace unfuse::pt2 {

/// Writes front to back, so that a pipe will do. Everything throws tensor_io::WriteError when it
/// cannot write.
class ZipWriter {
 public:
  /// Members go into the directory `root` of a new file.
  ZipWriter(const std::string& path, std::string root);
  ~ZipWriter();
  ZipWriter(const ZipWriter&) = delete;
  ZipWriter& operator=(const ZipWriter&) = delete;

  void add(const std::string& name, std::string_view bytes);
  /// A member of another file, copied by the kernel where it can: its bytes are neither held nor
  /// looked at. Throws Error (kInvalidFile) when the other file has become shorter.
  void copy(const std::string& name, const MappedFile& from, const ZipEntry& entry);
  /// The same for all members of the same bytes: torch's serialization_id.
  std::string content_id() const;
  /// Writes the directory.
  void finish();

 private:
  struct Member {
    std::string name;
    std::uint64_t header = 0;
    std::uint64_t size = 0;
    std::uint32_t checksum = 0;
  };

  void begin(const std::string& name, std::uint64_t size, std::uint32_t checksum);
  void write(std::string_view bytes);
  void copy_through_memory(const MappedFile& from, std::uint64_t offset, std::uint64_t size);

  std::string path_;
  std::string root_;
  int descriptor_ = -1;
  std::uint64_t position_ = 0;
  std::vector<Member> members_;
};

}  // namespace unfuse::pt2
