#include "tensor_io/tensor_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tensor_file_testing.h"
#include "tensor_io/files.h"

namespace unfuse::tensor_io {
namespace {

void expect_same(const NamedTensors& left, const NamedTensors& right) {
  ASSERT_EQ(left.size(), right.size());
  for (const NamedTensor& named : left) {
    SCOPED_TRACE(named.name);
    const Tensor* other = find(right, named.name);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(named.tensor.dtype(), other->dtype());
    EXPECT_EQ(named.tensor.sizes(), other->sizes());
    EXPECT_EQ(elements(named.tensor), elements(*other));
  }
}

Tensor iota(DType dtype, std::vector<std::int64_t> sizes) {
  Tensor tensor = Tensor::empty(dtype, std::move(sizes));
  auto* bytes = tensor.data_as<unsigned char>();
  const auto count = static_cast<std::size_t>(tensor.numel()) * dtype_size(dtype);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + 1);
  return tensor;
}

TEST_F(TensorFile, NpzOfNumPyHoldsTheSameAsSafetensors) {
  const NamedTensors expected = read(data("arrays.safetensors"));
  EXPECT_EQ(expected.size(), 9U);
  expect_same(read(data("arrays.npz")), expected);
  expect_same(read(data("arrays_compressed.npz")), expected);
}

TEST_F(TensorFile, WritesWhatItReads) {
  const NamedTensors arrays = read(data("arrays.npz"));
  for (const char* name : {"copy.npz", "copy.safetensors"}) {
    write(path(name), arrays);
    expect_same(read(path(name)), arrays);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

TEST_F(TensorFile, SafetensorsHoldsEveryDType) {
  NamedTensors tensors;
  for (const DType dtype :
       {DType::kUInt8, DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64, DType::kFloat16,
        DType::kFloat32, DType::kFloat64, DType::kComplex64, DType::kBool, DType::kBFloat16,
        DType::kUInt16, DType::kUInt32, DType::kUInt64, DType::kFloat8E4M3FN, DType::kFloat8E5M2,
        DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2FNUZ, DType::kFloat8E8M0FNU}) {
    tensors.push_back({std::string(dtype_name(dtype)), iota(dtype, {3, 1})});
  }
  write(path("all.safetensors"), tensors);
  const NamedTensors read_back = read(path("all.safetensors"));
  expect_same(read_back, tensors);
  for (const NamedTensor& named : read_back) {
    const std::size_t alignment = std::min<std::size_t>(8, dtype_size(named.tensor.dtype()));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(named.tensor.data()) % alignment, 0U) << named.name;
  }
}

TEST_F(TensorFile, StridedTensorsAreWrittenPacked) {
  const Tensor whole = iota(DType::kInt32, {4, 6});
  const Tensor transposed =
      Tensor::view(whole.data(), DType::kInt32, {3, 4}, {2, 6}, whole.storage());
  const NamedTensors tensors = {{"transposed", transposed}};
  for (const char* name : {"strided.npz", "strided.safetensors"}) {
    write(path(name), tensors);
    expect_same(read(path(name)), tensors);
    EXPECT_TRUE(read(path(name)).front().tensor.is_contiguous());
  }
}

TEST_F(TensorFile, UnalignedSafetensorsAreRead) {
  const std::string file =
      put_safetensors(R"({"byte":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                      R"("number":{"dtype":"I32","shape":[1],"data_offsets":[1,5]}})",
                      std::string("\x07\x01\x02\x00\x00", 5));
  const NamedTensors tensors = read(file);
  const Tensor& number = *find(tensors, "number");
  EXPECT_EQ(*number.data_as<std::int32_t>(), 0x201);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(number.data()) % 4, 0U);
}

TEST_F(TensorFile, NumPyLacksBFloat16) {
  try {
    write(path("x.npz"), {{"x", iota(DType::kBFloat16, {2})}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(".safetensors"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(TensorFile, WrongPathsAreSaidPlainly) {
  for (const char* name : {"missing.safetensors", "missing.npz"}) {
    try {
      read(path(name));
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find("No such file"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(read(path("x.json")), Error);
  EXPECT_THROW(write(path("no/such/folder.npz"), {}), Error);
  EXPECT_THROW(write(path("twice.npz"), {{"x", iota(DType::kBool, {1})}, {"x", Tensor()}}), Error);
}

TEST_F(TensorFile, AFailedWriteLeavesTheOldFile) {
  const std::string file = put("old.npz", "old");
  EXPECT_THROW(write(file, {{"x", iota(DType::kBFloat16, {2})}}), Error);
  EXPECT_EQ(slurp(file), "old");
}

/// While it lives, files of this process cannot grow beyond so many bytes: a disk that is full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

// Wherever the disk becomes full: in the header, the elements, or what is buffered to the very end.
TEST_F(TensorFile, AFullDiskLeavesTheOldFile) {
  const NamedTensors tensors = {{"large", iota(DType::kInt32, {40, 500})},
                                {"small", iota(DType::kUInt8, {3})}};
  for (const char* name : {"x.npz", "x.safetensors"}) {
    write(path(name), tensors);
    const std::size_t whole = slurp(path(name)).size();
    put(name, "old");
    for (std::size_t limit = 0; limit < whole;
         limit += std::min<std::size_t>(777, whole - limit - 1) + 1) {
      SCOPED_TRACE(std::string(name) + " of at most " + std::to_string(limit));
      std::string message;
      try {
        const FileSizeLimit full(limit);
        write(path(name), tensors);
      } catch (const WriteError& error) {
        message = error.what();
      }
      EXPECT_NE(message.find("cannot write: File too large"), std::string::npos) << message;
      EXPECT_NE(message.find(path(name)), std::string::npos) << message;
      EXPECT_EQ(slurp(path(name)), "old");
    }
    {
      const FileSizeLimit enough(whole);
      write(path(name), tensors);
    }
    expect_same(read(path(name)), tensors);
    fs::remove(path(name));
    EXPECT_TRUE(fs::is_empty(folder_)) << "nothing half-written is left";
  }
}

TEST_F(TensorFile, AnInterruptedWriteLeavesTheOldFile) {
  put("x.npz", "old");
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    const pid_t child = fork();
    if (child == 0) {
      std::signal(signal, SIG_DFL);  // nohup would have it ignored
      remove_unfinished_file_on_signals();
      const ReplacedFile replaced(path("x.npz"));
      std::ofstream(replaced.path()) << "half";
      std::raise(signal);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    EXPECT_EQ(slurp(path("x.npz")), "old");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "nothing is left beside it";
  }
}

TEST_F(TensorFile, WhatIsNoRegularFileIsWrittenInPlace) {
  for (const char* name : {"x.npz", "x.safetensors"}) {
    fs::create_symlink("/dev/full", path(name));
    EXPECT_THROW(write(path(name), {{"x", iota(DType::kUInt8, {3})}}), WriteError);
    EXPECT_TRUE(fs::is_symlink(path(name)));
  }
}

}  // namespace
}  // namespace unfuse::tensor_io
