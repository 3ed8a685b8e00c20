#include "onnx/wire.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "unfuse/error.h"

namespace unfuse::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written as they lie");

// The wire types of protobuf's encoding.
constexpr int kVarint = 0;
constexpr int kLengthDelimited = 2;
constexpr int kFixed32 = 5;

using Write = std::function<void(std::span<const std::byte>)>;

/// Collects small pieces, so that a strided tensor is not written an element at a time.
class Buffer {
 public:
  explicit Buffer(const Write& write) : write_(&write) { bytes_.reserve(kCapacity); }

  void add(const std::byte* bytes, std::size_t count) {
    if (bytes_.size() + count > kCapacity) flush();
    bytes_.insert(bytes_.end(), bytes, bytes + count);
  }
  void flush() {
    if (!bytes_.empty()) (*write_)(bytes_);
    bytes_.clear();
  }

 private:
  static constexpr std::size_t kCapacity = std::size_t{1} << 16;
  const Write* write_;
  std::vector<std::byte> bytes_;
};

void add_elements_of(const Tensor& tensor, std::size_t dimension, const std::byte* from,
                     Buffer& buffer) {
  const std::size_t element = dtype_size(tensor.dtype());
  if (dimension == tensor.sizes().size()) return buffer.add(from, element);
  const std::int64_t step = tensor.strides()[dimension] * static_cast<std::int64_t>(element);
  for (std::int64_t i = 0; i < tensor.sizes()[dimension]; ++i) {
    add_elements_of(tensor, dimension + 1, from + i * step, buffer);
  }
}

}  // namespace

std::uint64_t packed_bytes(const Tensor& tensor) {
  std::int64_t bytes = 0;
  const auto element = static_cast<std::int64_t>(dtype_size(tensor.dtype()));
  if (__builtin_mul_overflow(tensor.numel(), element, &bytes)) {
    throw Error(ErrorKind::kInvalidArgument, "a tensor's bytes do not fit into 64 bits");
  }
  return static_cast<std::uint64_t>(bytes);
}

void stream_elements(const Tensor& tensor, const Write& write) {
  if (tensor.numel() == 0) return;
  const auto* data = tensor.data_as<std::byte>();
  if (tensor.is_contiguous()) return write({data, packed_bytes(tensor)});
  Buffer buffer(write);
  add_elements_of(tensor, 0, data, buffer);
  buffer.flush();
}

std::string& Message::text() {
  if (pieces_.empty() || !std::holds_alternative<std::string>(pieces_.back())) {
    pieces_.emplace_back(std::string());
  }
  return std::get<std::string>(pieces_.back());
}

void Message::add_bytes(std::string_view bytes) {
  if (bytes.empty()) return;
  text().append(bytes);
  size_ += bytes.size();
}

void Message::add_varint(std::uint64_t value) {
  char bytes[10];
  std::size_t count = 0;
  do {
    const bool last = value < 0x80;
    bytes[count++] = static_cast<char>((value & 0x7f) | (last ? 0 : 0x80));
    value >>= 7;
  } while (value != 0);
  add_bytes({bytes, count});
}

void Message::add_key(int field, int wire_type) {
  add_varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire_type));
}

void Message::add_int(int field, std::int64_t value) {
  add_key(field, kVarint);
  add_varint(static_cast<std::uint64_t>(value));
}

void Message::add_float(int field, float value) {
  add_key(field, kFixed32);
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  add_bytes({bytes, sizeof bytes});
}

void Message::add_string(int field, std::string_view value) {
  add_key(field, kLengthDelimited);
  add_varint(value.size());
  add_bytes(value);
}

void Message::add_message(int field, Message message) {
  add_key(field, kLengthDelimited);
  add_varint(message.size_);
  for (Piece& piece : message.pieces_) {
    if (const auto* bytes = std::get_if<std::string>(&piece)) {
      text().append(*bytes);
    } else {
      pieces_.push_back(std::move(piece));
    }
  }
  size_ += message.size_;
}

void Message::add_elements(int field, const Tensor& tensor) {
  const std::uint64_t bytes = packed_bytes(tensor);
  add_key(field, kLengthDelimited);
  add_varint(bytes);
  if (bytes != 0) pieces_.emplace_back(tensor);
  size_ += bytes;
}

void Message::write(const Write& write) const {
  for (const Piece& piece : pieces_) {
    if (const auto* bytes = std::get_if<std::string>(&piece)) {
      write(std::as_bytes(std::span(*bytes)));
    } else {
      stream_elements(std::get<Tensor>(piece), write);
    }
  }
}

}  // namespace unfuse::onnx
