#include "tensor_io/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace unfuse::tensor_io {
namespace {

std::string describe(const std::string& action, int error) {
  return "cannot " + action + ": " + std::strerror(error != 0 ? error : EIO);
}

[[noreturn]] void fail(const std::string& action, const std::string& path, int error) {
  throw Error(ErrorKind::kInvalidArgument, describe(action, error), path);
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

// mkstemp makes files that only their owner may read.
void give_usual_permissions(int descriptor) {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(descriptor, 0666 & ~mask);
}

// The paths of ReplacedFiles that are not committed, for a signal's handler.
constexpr std::size_t kMostUnfinished = 2;
std::atomic<const char*> unfinished[kMostUnfinished] = {};
static_assert(std::atomic<const char*>::is_always_lock_free);

void add_unfinished(const char* path) {
  for (auto& place : unfinished) {
    const char* none = nullptr;
    if (place.compare_exchange_strong(none, path)) return;
  }
}

void remove_unfinished(const char* path) {
  for (auto& place : unfinished) {
    const char* held = path;
    place.compare_exchange_strong(held, nullptr);
  }
}

/// No signal that ends the process comes while this lives; one that did comes afterwards.
class SignalsHeldBack {
 public:
  SignalsHeldBack() {
    sigset_t held;
    ::sigemptyset(&held);
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) ::sigaddset(&held, signal);
    ::pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  ~SignalsHeldBack() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeldBack(const SignalsHeldBack&) = delete;
  SignalsHeldBack& operator=(const SignalsHeldBack&) = delete;

 private:
  sigset_t before_{};
};

void remove_unfinished_and_end(int signal) {
  for (const auto& place : unfinished) {
    if (const char* path = place) ::unlink(path);
  }
  // The handler is gone by now: as if there had been none.
  std::raise(signal);
}

void copy_elements(const std::byte* source, const Tensor& tensor, std::size_t dimension,
                   std::byte*& destination) {
  const std::size_t element = dtype_size(tensor.dtype());
  if (dimension == tensor.sizes().size()) {
    std::memcpy(destination, source, element);
    destination += element;
    return;
  }
  const std::int64_t step = tensor.strides()[dimension] * static_cast<std::int64_t>(element);
  for (std::int64_t i = 0; i < tensor.sizes()[dimension]; ++i) {
    copy_elements(source + i * step, tensor, dimension + 1, destination);
  }
}

}  // namespace

bool is_standard_output(const std::string& path) {
  struct stat file {};
  struct stat output {};
  if (::stat(path.c_str(), &file) != 0 || ::fstat(STDOUT_FILENO, &output) != 0) return false;
  return file.st_dev == output.st_dev && file.st_ino == output.st_ino;
}

bool is_written_in_place(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return false;
  return !std::filesystem::is_regular_file(status) || is_standard_output(path);
}

MappedFile map_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) fail("open", path, errno);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) fail("open", path, errno);
  if (S_ISDIR(status.st_mode)) fail("open", path, EISDIR);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::kInvalidArgument, "cannot open: not a regular file", path);
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {};
  void* memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.number(), 0);
  if (memory == MAP_FAILED) fail("map", path, errno);
  return {std::shared_ptr<void>(memory, [size](void* mapped) { ::munmap(mapped, size); }), size};
}

WriteError::WriteError(const std::string& where, int error)
    : Error(ErrorKind::kInvalidArgument, describe("write", error), where) {}

ReplacedFile::ReplacedFile(const std::string& target) : target_(target), path_(target) {
  if (is_written_in_place(target)) return;
  std::error_code error;
  // A link stays a link: what it points to is replaced.
  const auto resolved = std::filesystem::weakly_canonical(target, error);
  if (!error) target_ = resolved.string();
  path_ = target_ + ".XXXXXX";
  const SignalsHeldBack held_back;
  const Descriptor file(::mkstemp(path_.data()));
  if (file.number() < 0) throw WriteError(target, errno);
  add_unfinished(path_.c_str());
  give_usual_permissions(file.number());
}

ReplacedFile::~ReplacedFile() {
  if (path_ == target_) return;
  std::remove(path_.c_str());
  remove_unfinished(path_.c_str());
}

void ReplacedFile::commit() {
  if (path_ == target_) return;
  if (std::rename(path_.c_str(), target_.c_str()) != 0) throw WriteError(target_, errno);
  remove_unfinished(path_.c_str());
  path_ = target_;
}

void commit_together(ReplacedFile& first, ReplacedFile& second) {
  const SignalsHeldBack held_back;
  first.commit();
  second.commit();
}

void remove_unfinished_file_on_signals() {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    struct sigaction action {};
    // What the process was started to ignore (nohup) stays ignored.
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = remove_unfinished_and_end;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(signal, &action, nullptr);
  }
}

std::optional<std::uint64_t> byte_count(DType dtype, const std::vector<std::int64_t>& sizes) {
  auto bytes = static_cast<std::int64_t>(dtype_size(dtype));
  bool empty = false;
  for (const std::int64_t size : sizes) {
    // Sizes beside an empty dimension count too, since strides are made of them.
    if (__builtin_mul_overflow(bytes, size == 0 ? 1 : size, &bytes)) return std::nullopt;
    empty = empty || size == 0;
  }
  return empty ? 0 : static_cast<std::uint64_t>(bytes);
}

Tensor packed(const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  Tensor copy = Tensor::empty(tensor.dtype(), tensor.sizes());
  auto* destination = copy.data_as<std::byte>();
  copy_elements(tensor.data_as<std::byte>(), tensor, 0, destination);
  return copy;
}

}  // namespace unfuse::tensor_io
