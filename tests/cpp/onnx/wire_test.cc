#include "onnx/wire.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

namespace unfuse::onnx {
namespace {

std::string bytes_of(const Message& message) {
  std::string bytes;
  message.write([&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  EXPECT_EQ(bytes.size(), message.size());
  return bytes;
}

std::string hex(const Message& message) {
  std::string text;
  for (const char byte : bytes_of(message)) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

// The first three are the examples of protobuf's description of its encoding.
TEST(Wire, Integers) {
  Message message;
  message.add_int(1, 150);
  EXPECT_EQ(hex(message), "089601");
  Message edges;
  edges.add_int(1, 0);
  edges.add_int(16, 127);
  edges.add_int(2, -1);
  EXPECT_EQ(hex(edges),
            "0800"
            "80017f"
            "10ffffffffffffffffff01");
}

TEST(Wire, Strings) {
  Message message;
  message.add_string(2, "testing");
  message.add_string(3, "");
  EXPECT_EQ(hex(message),
            "120774657374696e67"
            "1a00");
}

TEST(Wire, MessagesInMessages) {
  Message inner;
  inner.add_int(1, 150);
  Message message;
  message.add_message(3, inner);
  message.add_message(4, Message());
  EXPECT_EQ(hex(message),
            "1a03089601"
            "2200");
}

TEST(Wire, Floats) {
  Message message;
  message.add_float(2, 1.0F);
  EXPECT_EQ(hex(message), "150000803f");
}

TEST(Wire, ElementsOfAnyStrides) {
  std::vector<std::uint8_t> memory(12);
  std::iota(memory.begin(), memory.end(), std::uint8_t{0});
  const auto view = [&](std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides) {
    Message inner;
    inner.add_elements(9, Tensor::view(memory.data(), DType::kUInt8, sizes, strides));
    Message message;
    message.add_message(5, inner);
    return hex(message);
  };
  EXPECT_EQ(view({2, 3}, {3, 1}),
            "2a08"
            "4a06"
            "000102030405");
  EXPECT_EQ(view({3, 2}, {1, 3}),
            "2a08"
            "4a06"
            "000301040205");
  EXPECT_EQ(view({2, 2}, {0, 6}),
            "2a06"
            "4a04"
            "00060006");
  EXPECT_EQ(view({0, 2}, {2, 1}),
            "2a02"
            "4a00");
  EXPECT_EQ(view({}, {}),
            "2a03"
            "4a01"
            "00");
}

TEST(Wire, StridedTensorsLargerThanTheBuffer) {
  constexpr std::int64_t kRows = 300;
  constexpr std::int64_t kColumns = 400;
  Tensor tensor = Tensor::empty(DType::kInt32, {kRows, kColumns});
  auto* elements = tensor.data_as<std::int32_t>();
  std::iota(elements, elements + kRows * kColumns, 0);
  const Tensor turned =
      Tensor::view(elements, DType::kInt32, {kColumns, kRows}, {1, kColumns}, tensor.storage());
  std::string bytes;
  stream_elements(turned, [&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  ASSERT_EQ(bytes.size(), packed_bytes(turned));
  const auto* got = reinterpret_cast<const std::int32_t*>(bytes.data());
  for (std::int64_t i = 0; i < kColumns; ++i) {
    for (std::int64_t j = 0; j < kRows; ++j) ASSERT_EQ(got[i * kRows + j], j * kColumns + i);
  }
}

}  // namespace
}  // namespace unfuse::onnx
