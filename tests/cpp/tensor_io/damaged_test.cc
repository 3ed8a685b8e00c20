// Files that are damaged, lie about themselves, or hold what is not read.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "support/archives/archive_editor.h"
#include "tensor_file_testing.h"

namespace unfuse::tensor_io {
namespace {

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

/// "1,1,1,": a shape of so many dimensions, but for its brackets.
std::string ones(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += i == 0 ? "1" : ",1";
  return text;
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
       "a", "holds 'x' twice"},
      {R"({"x":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", "a",
       "holds 'dtype' twice"},
      {entry(R"("shape":2,"data_offsets":[0,2])"), "ab", "not a list of sizes"},
      {entry(R"("shape":[18446744073709551616],"data_offsets":[0,2])"), "ab",
       "not a list of sizes"},
      {entry(R"("shape":[2],"data_offsets":[-2,0])"), "ab", "not a list of sizes"},
      {entry(R"("shape":[2],"data_offsets":[0,18446744073709551615])"), "ab",
       "not a list of sizes"},
      {entry(R"("shape":[2],"data_offsets":[0,9223372036854775807])"), "ab", "needs 2 bytes"},
      {entry("\"shape\":[" + ones(65) + "],\"data_offsets\":[0,1]"), "a",
       "more than 64 dimensions"},
      {R"({"x":{"shape":[1],"data_offsets":[0,1]}})", "a", "has no dtype"},
      {R"({"x":{"dtype":"U8","data_offsets":[0,1]}})", "a", "has no shape"},
      {R"({"x":{"dtype":7,"shape":[1],"data_offsets":[0,1]}})", "a", "unknown dtype 7"},
      {R"({"__metadata__":3})", "", "__metadata__ is not an object of strings"},
      {R"({"__metadata__":{"a":{}}})", "", "__metadata__ is not an object of strings"},
      {"{}", "a", "bytes after the last tensor"},
      {"{} x", "", "not JSON"},
      {std::string(100000, '['), "", "not JSON"},
  };
  for (const auto& damaged : cases) {
    const std::string message = refusal(put_safetensors(damaged.header, damaged.elements));
    EXPECT_NE(message.find(damaged.expected), std::string::npos)
        << damaged.header << "\n gives: " << message << "\n not: " << damaged.expected;
  }
  EXPECT_NE(refusal(put("short.safetensors", "abc")).find("shorter"), std::string::npos);
  EXPECT_NE(refusal(put("none.safetensors", "")).find("shorter"), std::string::npos);
  for (const std::uint64_t length : {std::uint64_t{3}, std::uint64_t{1} << 31, UINT64_MAX - 7}) {
    const std::string told(reinterpret_cast<const char*>(&length), sizeof length);
    const std::string message = refusal(put("beyond.safetensors", told + "{}"));
    EXPECT_NE(message.find("would be " + std::to_string(length)), std::string::npos) << message;
  }
  EXPECT_NE(refusal(put("long.safetensors", "\xff\xff\xff\xff\xff\xff\xff\xff{}")).find("long"),
            std::string::npos);
}

// Whatever a file holds, what is said about it is one line of moderate length.
TEST_F(TensorFile, MessagesStayShortAndPlain) {
  const std::string endless(5'000'000, 'a');
  EXPECT_LT(refusal(put_safetensors("{\"" + endless, "")).size(), 1000U);
  EXPECT_LT(refusal(put_safetensors("{\"" + endless + "\":3}", "")).size(), 20000U);
  EXPECT_LT(refusal(put_safetensors(R"({"x":{"dtype":")" + endless + "\"}}", "")).size(), 1000U);
  const std::string message = refusal(put_safetensors(R"({"a\nb\u001b[31m":3})", ""));
  EXPECT_NE(message.find(R"('a\x0ab\x1b[31m')"), std::string::npos) << message;
}

TEST_F(TensorFile, SafetensorsOfOddButTrueSizes) {
  const std::string file =
      put_safetensors(R"({"__metadata__":{"format":"pt"},)"
                      R"("scalar":{"dtype":"I16","shape":[],"data_offsets":[0,2]},)"
                      R"("empty":{"dtype":"F64","shape":[0,3],"data_offsets":[2,2]},)"
                      R"("after":{"dtype":"U8","shape":[1,1],"data_offsets":[2,3],"more":1}})",
                      "\x05\x01\x07");
  const NamedTensors tensors = read(file);
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(*find(tensors, "scalar")->data_as<std::int16_t>(), 0x105);
  EXPECT_EQ(find(tensors, "empty")->sizes(), (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(*find(tensors, "after")->data_as<std::uint8_t>(), 7);
  EXPECT_TRUE(read(put_safetensors("{}", "")).empty());
}

// --- .npz

/// The bytes of an .npy array with this header; `length` is what it says of the header's length.
std::string npy(const std::string& header, const std::string& elements, int version = 1,
                std::optional<std::uint32_t> length = {}) {
  const std::uint32_t told = length.value_or(static_cast<std::uint32_t>(header.size()));
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes += static_cast<char>(told >> (8 * i));
  return bytes + header + elements;
}

std::string header(const std::string& dtype, const std::string& shape, bool fortran = false) {
  return "{'descr': " + dtype + ", 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }\n";
}

class NpzFile : public TensorFile {
 protected:
  std::string put_npz(const std::vector<pt2::ArchiveEditor::Member>& members) const {
    pt2::ArchiveEditor editor;
    editor.members() = members;
    return put("made.npz", editor.bytes(1));
  }
  /// Of one array 'x'.
  std::string put_array(const std::string& bytes) const { return put_npz({{"x.npy", bytes}}); }
};

TEST_F(NpzFile, ArraysThatAreNotRead) {
  const struct {
    std::string array, expected;
  } cases[] = {
      {"", "not an .npy array"},
      {"hello, world", "not an .npy array"},
      {npy(header("'>f4'", "(1,)"), "abcd"), "big-endian"},
      {npy(header("'>i8'", "()"), "abcdefgh"), "big-endian"},
      {npy(header("'|O'", "(1,)"), "\x80\x04."), "Python objects is never read"},
      {npy(header("[('a', '<f4')]", "(1,)"), "abcd"), "an array of records"},
      {npy(header("('<f4', (2,))", "(1,)"), "abcdabcd"), "an array of records"},
      {npy(header("'<U2'", "(1,)"), "abcdabcd"), "dtype '<U2' cannot be read"},
      {npy(header("'|S4'", "(1,)"), "abcd"), "dtype '|S4' cannot be read"},
      {npy(header("'<M8[D]'", "(1,)"), "abcdabcd"), "cannot be read"},
      {npy(header("'<f16'", "(1,)"), std::string(16, 'a')), "cannot be read"},
      {npy(header("'<V2'", "(1,)"), "ab"), "no bfloat16"},
      {npy(header("'f4'", "(1,)"), "abcd"), "cannot be read"},
      {npy(header("''", "(1,)"), "abcd"), "damaged .npy header"},
      {npy(header("__import__('os')", "(1,)"), "abcd"), "damaged .npy header"},
      {npy(header("'<f4'", "1"), "abcd"), "damaged .npy header"},
      {npy(header("'<f4'", "[1]"), "abcd"), "damaged .npy header"},
      {npy(header("'<f4'", "(-1,)"), "abcd"), "damaged .npy header"},
      {npy(header("'<f4'", "(1.0,)"), "abcd"), "damaged .npy header"},
      {npy(header("'<f4'", "(99999999999999999999,)"), "abcd"), "damaged .npy header"},
      {npy(header("'<f4'", std::string("(") + ones(65) + ")"), "abcd"), "damaged .npy header"},
      {npy("{'descr': '<f4', 'shape': (1,)}", "abcd"), "damaged .npy header"},
      {npy(header("'<f4'", "(1,)") + "x", "abcd"), "damaged .npy header"},
      {npy("{'descr': '<f4'", "abcd"), "damaged .npy header"},
      {npy(header("'<f4'", "(2,)"), "abcd"), "needs 8 bytes, the array has 4"},
      {npy(header("'<f4'", "(2,)"), "abcdabcde"), "needs 8 bytes, the array has 9"},
      {npy(header("'<f4'", "(9223372036854775807, 9)"), "abcd"), "needs too many bytes"},
      {npy(header("'<f4'", "(9223372036854775807, 9, 0)"), ""), "needs too many bytes"},
      {npy(header("'<f4'", "(0, 9, 9223372036854775807)", true), ""), "needs too many bytes"},
      {npy(header("'<f4'", "(1,)"), "abcd", 1, 60000), "cut off within the .npy header"},
      {npy(header("'<f4'", "(1,)"), "abcd", 2, 1U << 31), "cut off within the .npy header"},
      {npy(header("'<f4'", "(1,)"), "abcd", 3, 0xffffffff), "cut off within the .npy header"},
      {npy(header("'<f4'", "(1,)"), "abcd", 4), "version 4 is not read"},
      {npy(header("'<f4'", "(1,)"), "abcd", 0), "version 0 is not read"},
  };
  for (const auto& damaged : cases) {
    const std::string message = refusal(put_array(damaged.array));
    EXPECT_NE(message.find(damaged.expected), std::string::npos)
        << damaged.array << "\n gives: " << message << "\n not: " << damaged.expected;
    EXPECT_NE(message.find("'x.npy'"), std::string::npos) << message;
  }
}

TEST_F(NpzFile, ArraysOfOddButTrueSizes) {
  const auto read_array = [&](const std::string& bytes) {
    return read(put_array(bytes)).front().tensor;
  };
  const Tensor scalar = read_array(npy(header("'<i2'", "()"), "\x05\x01"));
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(*scalar.data_as<std::int16_t>(), 0x105);
  for (const bool fortran : {false, true}) {
    EXPECT_EQ(read_array(npy(header("'<f8'", "(0, 3)", fortran), "")).sizes(),
              (std::vector<std::int64_t>{0, 3}));
    const Tensor table = read_array(npy(header("'|u1'", "(2, 3)", fortran), "abcdef"));
    EXPECT_EQ(elements(table), fortran ? "acebdf" : "abcdef");
  }
  // One byte has no order, and spaces do not matter.
  EXPECT_EQ(
      elements(read_array(npy("{ \"shape\":(2,) ,'fortran_order':False,'descr':'>i1'}", "ab"))),
      "ab");
  for (const int version : {2, 3}) {
    EXPECT_EQ(elements(read_array(npy(header("'|b1'", "(1,)"), "\1", version))), "\1");
  }
}

TEST_F(NpzFile, Archives) {
  const std::string array = npy(header("'|u1'", "(2,)"), "ab");
  const auto expect_refused = [&](const std::string& file, const std::string& words) {
    const std::string message = refusal(file);
    EXPECT_NE(message.find(words), std::string::npos) << message << "\n not: " << words;
  };
  expect_refused(put("text.npz", "hello"), "not a zip archive");
  expect_refused(put("none.npz", ""), "not a zip archive");
  expect_refused(put_npz({{"x.npy", array}, {"x.npy", array}}), "two arrays are named 'x'");
  expect_refused(put_npz({{"x.npy", array}, {"readme.txt", "hi"}}), "holds .npy arrays only");
  expect_refused(put_npz({{"folder/", ""}}), "holds .npy arrays only");
  expect_refused(put_npz({{"x.npy", array, 12}}), "NumPy does not use (method 12)");
  expect_refused(put_npz({{"x.npy", array, 99}}), "NumPy does not use (method 99)");
  expect_refused(put_npz({{"x.npy", array, 0, 1}}), "encrypted");
  expect_refused(put_npz({{"x.npy", array, 8}}), "within its compressed data");
}

TEST_F(NpzFile, AnArchiveWithoutArraysIsRead) {
  // Two bytes of comment belong to the archive.
  const std::string empty = pt2::ArchiveEditor().bytes();
  EXPECT_EQ(empty.size(), 22U);
  EXPECT_TRUE(read(put("empty.npz", empty)).empty());
  EXPECT_TRUE(read(put("comment.npz", empty.substr(0, 20) + std::string("\2\0hi", 4))).empty());
  EXPECT_NE(refusal(put("cut.npz", empty.substr(0, 21))).find("not a zip"), std::string::npos);
  write(path("none.npz"), {});
  EXPECT_TRUE(read(path("none.npz")).empty());
}

TEST_F(NpzFile, DirectoriesThatLie) {
  const std::string whole = slurp(data("arrays_compressed.npz"));
  const std::size_t directory = pt2::directory_offset(whole);
  const std::size_t end = whole.rfind("PK\5\6");
  const auto with = [&](std::size_t offset, const std::string& bytes) {
    std::string lying = whole;
    return refusal(put("lying.npz", lying.replace(offset, bytes.size(), bytes)));
  };
  const std::string two_gigabytes("\xff\xff\xff\x7f", 4);
  EXPECT_NE(with(directory + 20, two_gigabytes), "it was read") << "compressed size";
  EXPECT_NE(with(directory + 24, two_gigabytes).find("cannot be true"), std::string::npos);
  EXPECT_NE(with(directory + 20, two_gigabytes + two_gigabytes).find("cannot be true"),
            std::string::npos);
  EXPECT_NE(with(directory + 42, two_gigabytes), "it was read") << "where the member is";
  EXPECT_NE(with(end + 8, "\xff\x7f\xff\x7f"), "it was read") << "the number of members";
  EXPECT_NE(with(end + 16, two_gigabytes), "it was read") << "where the directory is";
}

TEST_F(TensorFile, DamagedNpz) {
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
