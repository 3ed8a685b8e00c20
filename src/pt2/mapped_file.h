// A file opened once: read by copy, or mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace unfuse::pt2 {

/// A regular file. What is parsed is copied out by read_at(), which notices when the file has
/// become shorter meanwhile; what is mapped is only ever the elements of weights. A file that
/// another process truncates while its weights are mapped kills the process that touches them
/// (SIGBUS), as with every mapped file: replace model files by renaming, never in place.
class MappedFile {
 public:
  /// Throws Error: kInvalidArgument when there is no such regular file or it cannot be opened,
  /// kInvalidFile when it is empty.
  explicit MappedFile(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::string& path() const { return path_; }
  /// Bytes, when the file was opened.
  std::uint64_t size() const { return size_; }

  /// Copies up to `count` bytes from `offset` on; returns how many there were.
  std::size_t read_at(std::uint64_t offset, void* destination, std::size_t count) const;

  /// For reading by the kernel.
  int descriptor() const { return descriptor_; }

  /// The whole file, mapped privately and read-only at the first call. Lives as long as any copy.
  std::shared_ptr<const std::byte> mapping() const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  mutable std::shared_ptr<const std::byte> mapping_;
};

}  // namespace unfuse::pt2
