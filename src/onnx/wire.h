// Protobuf's wire format: what ONNX files are made of.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "unfuse/tensor.h"

namespace unfuse::onnx {

/// Bytes a tensor takes, packed row-major. Throws Error (kInvalidArgument) when they do not fit.
std::uint64_t packed_bytes(const Tensor& tensor);

/// Gives the elements of a tensor, packed row-major, a piece after the other: straight from its
/// memory where they lie there so, through a small buffer otherwise.
void stream_elements(const Tensor& tensor,
                     const std::function<void(std::span<const std::byte>)>& write);

/// A message of fields, in the order in which they are added. Elements of tensors are kept by
/// reference and read when the message is written, so that no weight is held twice.
class Message {
 public:
  void add_int(int field, std::int64_t value);
  void add_float(int field, float value);
  /// A string, or bytes.
  void add_string(int field, std::string_view text);
  void add_message(int field, Message message);
  /// bytes: the elements of a tensor, little-endian.
  void add_elements(int field, const Tensor& tensor);

  /// Bytes that write() gives.
  std::uint64_t size() const { return size_; }
  void write(const std::function<void(std::span<const std::byte>)>& write) const;

 private:
  using Piece = std::variant<std::string, Tensor>;

  std::string& text();
  void add_varint(std::uint64_t value);
  void add_key(int field, int wire_type);
  void add_bytes(std::string_view bytes);

  std::vector<Piece> pieces_;
  std::uint64_t size_ = 0;
};

}  // namespace unfuse::onnx
