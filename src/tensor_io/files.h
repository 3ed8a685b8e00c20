// Files as readers and writers of tensors want them: mapped whole, and replaced whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unfuse/error.h"
#include "unfuse/tensor.h"

namespace unfuse::tensor_io {

/// A file's bytes, mapped. Writes stay private to this process. Unmapped with the last reference
/// to `memory`.
struct MappedFile {
  std::shared_ptr<void> memory;
  std::size_t size = 0;

  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(memory.get()), size}; }
};

/// Throws Error (kInvalidArgument) when there is no such file, or it cannot be read.
MappedFile map_file(const std::string& path);

/// Something could not be written: a full disk, a folder that only others may write to.
class WriteError : public Error {
 public:
  /// `error` as in errno.
  WriteError(const std::string& where, int error);
};

/// Whether it is where this process's standard output goes: /dev/stdout, or the file behind it.
bool is_standard_output(const std::string& path);

/// Whether ReplacedFile writes it in place: what is no regular file (a pipe), and standard output.
bool is_written_in_place(const std::string& path);

/// Replaces a file at once: write to path(), then commit(). Without commit the old file stays, but
/// for what is_written_in_place().
class ReplacedFile {
 public:
  /// Throws WriteError when the folder does not exist or cannot be written to.
  explicit ReplacedFile(const std::string& target);
  ~ReplacedFile();
  ReplacedFile(const ReplacedFile&) = delete;
  ReplacedFile& operator=(const ReplacedFile&) = delete;

  const std::string& path() const { return path_; }
  void commit();

 private:
  std::string target_;
  std::string path_;
};

/// Commits two files that belong together, without a signal of those below coming in between.
void commit_together(ReplacedFile& first, ReplacedFile& second);

/// From now on SIGHUP, SIGINT and SIGTERM remove the files of ReplacedFiles that are not committed
/// before they end the process. For a program that writes two files at a time at most.
void remove_unfinished_file_on_signals();

/// Dimensions that a tensor of a file may have, as in NumPy.
inline constexpr std::size_t kMaximumRank = 64;

/// Bytes of a packed tensor; empty when its sizes or strides would overflow.
std::optional<std::uint64_t> byte_count(DType dtype, const std::vector<std::int64_t>& sizes);

/// The same elements, packed row-major: the tensor itself when it is so already, else a copy.
Tensor packed(const Tensor& tensor);

}  // namespace unfuse::tensor_io
