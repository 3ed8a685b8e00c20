#include "tensor_io/tensor_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "tensor_io/files.h"
#include "unfuse/error.h"

namespace unfuse::tensor_io {
namespace {

namespace fs = std::filesystem;

std::string data(const std::string& name) { return std::string(UNFUSE_TEST_DATA) + "/" + name; }

class TensorFile : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("tensor_file_") + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string put(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string put_safetensors(const std::string& header, const std::string& elements) const {
    const std::uint64_t length = header.size();
    std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
    return put("damaged.safetensors", bytes + header + elements);
  }

  fs::path folder_;
};

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string elements(const Tensor& tensor) {
  std::string bytes;
  const std::size_t size = dtype_size(tensor.dtype());
  const std::function<void(std::size_t, const char*)> walk = [&](std::size_t dimension,
                                                                 const char* from) {
    if (dimension == tensor.sizes().size()) {
      bytes.append(from, size);
      return;
    }
    for (std::int64_t i = 0; i < tensor.sizes()[dimension]; ++i) {
      walk(dimension + 1, from + i * tensor.strides()[dimension] * static_cast<std::int64_t>(size));
    }
  };
  walk(0, tensor.data_as<char>());
  return bytes;
}

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

/// The message that reading this file fails with.
std::string refusal(const std::string& path) {
  try {
    read(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidFile) << error.what();
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    return error.what();
  }
  return "it was read";
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

TEST_F(TensorFile, WhatIsNoRegularFileIsWrittenInPlace) {
  for (const char* name : {"x.npz", "x.safetensors"}) {
    fs::create_symlink("/dev/full", path(name));
    EXPECT_THROW(write(path(name), {{"x", iota(DType::kUInt8, {3})}}), WriteError);
    EXPECT_TRUE(fs::is_symlink(path(name)));
  }
}

TEST_F(TensorFile, DamagedSafetensorsHeaders) {
  const auto entry = [](const std::string& rest) { return R"({"x":{"dtype":"U8",)" + rest + "}}"; };
  const struct {
    std::string header, elements, expected;
  } cases[] = {
      {"", "", "not JSON"},
      {"[]", "", "not a JSON object"},
      {"{", "", "not JSON"},
      {"\xff", "", "not JSON"},
      {R"({"x":3})", "", "not described by an object"},
      {entry(R"("shape":[2])"), "ab", "has no data_offsets"},
      {entry(R"("shape":[-1],"data_offsets":[0,2])"), "ab", "not a list of sizes"},
      {entry(R"("shape":[1.5],"data_offsets":[0,2])"), "ab", "not a list of sizes"},
      {entry(R"("shape":[2],"data_offsets":[2,0])"), "ab", "not a begin and an end"},
      {entry(R"("shape":[2],"data_offsets":[0,2,3])"), "ab", "not a begin and an end"},
      {entry(R"("shape":[3],"data_offsets":[0,2])"), "ab", "needs 3 bytes and has 2"},
      {entry(R"("shape":[9223372036854775807,9],"data_offsets":[0,2])"), "ab",
       "larger than memory"},
      {entry(R"("shape":[9223372036854775807,9,0],"data_offsets":[0,0])"), "",
       "larger than memory"},
      {entry(R"("shape":[2],"data_offsets":[1,3])"), "abc", "not where the one before it ends"},
      {entry(R"("shape":[2],"data_offsets":[0,2])"), "a", "cut off within tensor 'x'"},
      {entry(R"("shape":[2],"data_offsets":[0,2])"), "abc", "bytes after the last tensor"},
      {R"({"x":{"dtype":"Q4","shape":[],"data_offsets":[0,0]}})", "", "unknown dtype \"Q4\""},
      {R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
       R"("y":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
       "ab", "not where the one before it ends"},
      {R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
       R"("x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       "a", "two tensors are named 'x'"},
  };
  for (const auto& damaged : cases) {
    const std::string message = refusal(put_safetensors(damaged.header, damaged.elements));
    EXPECT_NE(message.find(damaged.expected), std::string::npos)
        << damaged.header << "\n gives: " << message << "\n not: " << damaged.expected;
  }
  EXPECT_NE(refusal(put("short.safetensors", "abc")).find("shorter"), std::string::npos);
  EXPECT_NE(refusal(put("none.safetensors", "")).find("shorter"), std::string::npos);
  EXPECT_NE(refusal(put("long.safetensors", "\xff\xff\xff\xff\xff\xff\xff\xff{}")).find("long"),
            std::string::npos);
}

TEST_F(TensorFile, DamagedNpz) {
  EXPECT_NE(refusal(put("text.npz", "hello")).find("not a zip archive"), std::string::npos);
  std::string bytes = slurp(data("arrays.npz"));
  const std::size_t shape = bytes.find("(3, 4)");
  ASSERT_NE(shape, std::string::npos);
  bytes[shape + 1] = '2';
  EXPECT_NE(refusal(put("sum.npz", bytes)).find("checksum"), std::string::npos);
}

// No damage may crash, hang, or be taken for good memory; what is still well-formed may be read.
void damage_and_read(const std::string& original, const std::string& path, std::uint32_t seed) {
  std::mt19937 random(seed);
  const std::string bytes = slurp(original);
  for (int round = 0; round < 1500; ++round) {
    std::string damaged = bytes;
    if (random() % 4 == 0) damaged.resize(random() % damaged.size());
    const auto flips = 1 + random() % 4;
    for (unsigned i = 0; i < flips && !damaged.empty(); ++i) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    std::ofstream(path, std::ios::binary) << damaged;
    try {
      for (const NamedTensor& named : read(path)) elements(named.tensor);
    } catch (const Error&) {
    }
  }
}

TEST_F(TensorFile, RandomDamageNeverCrashes) {
  damage_and_read(data("arrays.safetensors"), path("x.safetensors"), 1);
  damage_and_read(data("arrays.npz"), path("x.npz"), 2);
  damage_and_read(data("arrays_compressed.npz"), path("y.npz"), 3);
}

}  // namespace
}  // namespace unfuse::tensor_io
