#include "tensor_io/npy.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "tensor_io/files.h"

namespace unfuse::tensor_io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;

struct DTypeCode {
  const char* code;  // of NumPy's array interface, without the byte order
  DType dtype;
};

constexpr DTypeCode kCodes[] = {
    {"b1", DType::kBool},      {"u1", DType::kUInt8},       {"i1", DType::kInt8},
    {"u2", DType::kUInt16},    {"i2", DType::kInt16},       {"u4", DType::kUInt32},
    {"i4", DType::kInt32},     {"u8", DType::kUInt64},      {"i8", DType::kInt64},
    {"f2", DType::kFloat16},   {"f4", DType::kFloat32},     {"f8", DType::kFloat64},
    {"c8", DType::kComplex64}, {"c16", DType::kComplex128},
};

[[noreturn]] void damaged(const std::string& where, const std::string& cause,
                          const std::string& hint = "") {
  throw Error(ErrorKind::kInvalidFile, cause, where, hint);
}

/// Reads the header's Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class Literal {
 public:
  Literal(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  bool accept(char wanted) {
    skip_spaces();
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail();
  }
  bool next_is(char wanted) {
    skip_spaces();
    return !text_.empty() && text_.front() == wanted;
  }
  bool at_end() {
    skip_spaces();
    return text_.empty();
  }

  std::string string() {
    skip_spaces();
    const char quote = next_is('"') ? '"' : '\'';
    expect(quote);
    const std::size_t end = text_.find(quote);
    if (end == std::string_view::npos) fail();
    std::string read(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return read;
  }
  bool boolean() {
    skip_spaces();
    if (accept_word("True")) return true;
    if (!accept_word("False")) fail();
    return false;
  }
  std::vector<std::int64_t> counts() {
    std::vector<std::int64_t> read;
    expect('(');
    while (!accept(')')) {
      read.push_back(count());
      accept_word("L");  // Python 2 wrote 3L
      if (!next_is(')')) expect(',');
      if (read.size() > kMaximumRank) fail();
    }
    return read;
  }
  [[noreturn]] void fail() const { damaged(where_, "damaged .npy header"); }

 private:
  void skip_spaces() {
    while (!text_.empty() && std::isspace(static_cast<unsigned char>(text_.front())) != 0) {
      text_.remove_prefix(1);
    }
  }
  bool accept_word(std::string_view word) {
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  std::int64_t count() {
    skip_spaces();
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) fail();
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }

  std::string_view text_;
  const std::string& where_;
};

DType dtype_of(const std::string& description, const std::string& where) {
  if (description.size() < 2) damaged(where, "damaged .npy header");
  const char order = description.front();
  const std::string code = description.substr(1);
  if (code.starts_with('O')) {
    damaged(where, "an array of Python objects is never read", "save arrays of numbers");
  }
  if (order == '>' && code != "b1" && code != "u1" && code != "i1") {
    damaged(where, "a big-endian array", "save array.astype(array.dtype.newbyteorder('<'))");
  }
  for (const DTypeCode& known : kCodes) {
    if (code == known.code) return known.dtype;
  }
  if (code == "V2") {
    damaged(where, "NumPy has no bfloat16: dtype '" + description + "' does not tell what it holds",
            "use a .safetensors file");
  }
  damaged(where, "an array of the dtype '" + description + "' cannot be read");
}

/// Where the literal begins, and its length.
std::pair<std::size_t, std::size_t> locate_literal(std::span<const std::byte> bytes,
                                                   const std::string& where) {
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    damaged(where, "not an .npy array");
  }
  const auto byte = [&](std::size_t index) { return std::to_integer<std::size_t>(bytes[index]); };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3) {
    damaged(where, ".npy format version " + std::to_string(version) + " is not read");
  }
  const std::size_t begin = version == 1 ? 10 : 12;
  if (bytes.size() < begin) damaged(where, "not an .npy array");
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - begin) damaged(where, "cut off within the .npy header");
  return {begin, length};
}

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> bytes, const std::string& where) {
  const auto [begin, length] = locate_literal(bytes, where);
  Literal literal({reinterpret_cast<const char*>(bytes.data()) + begin, length}, where);
  NpyHeader header;
  header.bytes = begin + length;
  std::optional<std::string> description;
  bool has_order = false;
  bool has_shape = false;
  literal.expect('{');
  while (!literal.accept('}')) {
    const std::string key = literal.string();
    literal.expect(':');
    if (key == "descr") {
      if (literal.next_is('[') || literal.next_is('('))
        damaged(where, "an array of records cannot be read");
      description = literal.string();
    } else if (key == "fortran_order") {
      header.fortran_order = literal.boolean();
      has_order = true;
    } else if (key == "shape") {
      header.sizes = literal.counts();
      has_shape = true;
    } else {
      literal.fail();
    }
    if (!literal.next_is('}')) literal.expect(',');
  }
  if (!description || !has_order || !has_shape || !literal.at_end()) literal.fail();
  header.dtype = dtype_of(*description, where);
  return header;
}

std::string npy_header(const Tensor& tensor, const std::string& where) {
  const auto* known =
      std::find_if(std::begin(kCodes), std::end(kCodes),
                   [&](const DTypeCode& code) { return code.dtype == tensor.dtype(); });
  if (known == std::end(kCodes)) {
    throw Error(ErrorKind::kInvalidArgument,
                "NumPy has no " + std::string(dtype_name(tensor.dtype())), where,
                "write a .safetensors file");
  }
  const char order = dtype_size(tensor.dtype()) == 1 ? '|' : '<';
  std::string literal =
      std::string("{'descr': '") + order + known->code + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t size : tensor.sizes()) literal += std::to_string(size) + ", ";
  literal += "), }";
  const std::size_t before = kMagic.size() + 4;
  const std::size_t total =
      (before + literal.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  literal.append(total - before - literal.size() - 1, ' ');
  literal += '\n';
  std::string header(kMagic);
  header += '\1';
  header += '\0';
  header += static_cast<char>(literal.size() & 0xff);
  header += static_cast<char>(literal.size() >> 8);
  return header + literal;
}

}  // namespace unfuse::tensor_io
