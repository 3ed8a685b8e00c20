#include "pt2/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "pt2/failure.h"
#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

[[noreturn]] void fail_to_open(const std::string& path, const std::string& message) {
  throw Error(ErrorKind::kInvalidArgument, message, path,
              "give the path of a .pt2 file that torch.export.save wrote");
}

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  // O_NONBLOCK, so that opening a named pipe returns instead of waiting for a writer.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    if (errno == ENOENT || errno == ENOTDIR) fail_to_open(path, "no such file");
    fail_to_open(path, std::string("cannot be opened: ") + std::strerror(errno));
  }
  struct stat status = {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode) || status.st_size == 0) {
    const bool empty = known && S_ISREG(status.st_mode);
    ::close(descriptor_);
    descriptor_ = -1;
    if (empty) fail(path, "the file is empty");
    fail_to_open(path, known && S_ISDIR(status.st_mode) ? "is a directory" : "is not a file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

MappedFile::~MappedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::size_t MappedFile::read_at(std::uint64_t offset, void* destination, std::size_t count) const {
  if (offset >= size_) return 0;
  auto* bytes = static_cast<char*>(destination);
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got =
        ::pread(descriptor_, bytes + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::shared_ptr<const std::byte> MappedFile::mapping() const {
  if (mapping_) return mapping_;
  const auto length = static_cast<std::size_t>(size_);
  void* address = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, descriptor_, 0);
  if (address == MAP_FAILED) {
    throw Error(ErrorKind::kInvalidFile, std::string("cannot be mapped: ") + std::strerror(errno),
                path_, "the file must lie on a file system that supports mmap");
  }
  mapping_ = std::shared_ptr<const std::byte>(
      static_cast<const std::byte*>(address), [length](const std::byte* begin) {
        ::munmap(const_cast<void*>(static_cast<const void*>(begin)), length);
      });
  return mapping_;
}

}  // namespace unfuse::pt2
