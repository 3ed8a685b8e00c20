#include "tensor_io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "ir/printable.h"
#include "tensor_io/files.h"
#include "unfuse/error.h"

namespace unfuse::tensor_io {
namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little,
              "safetensors is little-endian; a big-endian machine must swap bytes here");

constexpr std::size_t kLengthBytes = 8;
// What other readers of the format allow.
constexpr std::uint64_t kMaximumHeader = 100'000'000;

struct DTypeName {
  const char* name;
  DType dtype;
};

constexpr DTypeName kDTypes[] = {
    {"F64", DType::kFloat64},
    {"F32", DType::kFloat32},
    {"F16", DType::kFloat16},
    {"BF16", DType::kBFloat16},
    {"I64", DType::kInt64},
    {"I32", DType::kInt32},
    {"I16", DType::kInt16},
    {"I8", DType::kInt8},
    {"U64", DType::kUInt64},
    {"U32", DType::kUInt32},
    {"U16", DType::kUInt16},
    {"U8", DType::kUInt8},
    {"BOOL", DType::kBool},
    {"C64", DType::kComplex64},
    {"F8_E4M3", DType::kFloat8E4M3FN},
    {"F8_E5M2", DType::kFloat8E5M2},
    {"F8_E4M3FNUZ", DType::kFloat8E4M3FNUZ},
    {"F8_E5M2FNUZ", DType::kFloat8E5M2FNUZ},
    {"F8_E8M0", DType::kFloat8E8M0FNU},
};

std::optional<DType> dtype_of(const std::string& name) {
  for (const DTypeName& known : kDTypes) {
    if (name == known.name) return known.dtype;
  }
  return std::nullopt;
}

const char* name_of(DType dtype) {
  for (const DTypeName& known : kDTypes) {
    if (dtype == known.dtype) return known.name;
  }
  return nullptr;
}

[[noreturn]] void damaged(const std::string& path, const std::string& cause) {
  throw Error(ErrorKind::kInvalidFile, "not a valid safetensors file: " + cause, path);
}

/// A tensor as the header describes it; offsets count from the end of the header.
struct Entry {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> sizes;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

bool is_count(const Json& json) {
  return json.is_number_unsigned() && json.get<std::uint64_t>() <= INT64_MAX;
}

std::vector<std::int64_t> read_counts(const Json& json, const std::string& path,
                                      const std::string& what) {
  if (!json.is_array() || !std::all_of(json.begin(), json.end(), is_count)) {
    damaged(path, what + " is not a list of sizes");
  }
  if (json.size() > kMaximumRank) {
    damaged(path, what + " has more than " + std::to_string(kMaximumRank) + " dimensions");
  }
  return json.get<std::vector<std::int64_t>>();
}

std::uint64_t needed_bytes(const Entry& entry, const std::string& path) {
  const auto bytes = byte_count(entry.dtype, entry.sizes);
  if (!bytes) damaged(path, "tensor '" + entry.name + "' is larger than memory can be");
  return *bytes;
}

const Json& member(const Json& json, const char* key, const std::string& path,
                   const std::string& tensor) {
  const auto found = json.find(key);
  if (found == json.end()) damaged(path, "tensor '" + tensor + "' has no " + key);
  return *found;
}

Entry read_entry(const std::string& name, const Json& json, const std::string& path) {
  if (!json.is_object()) damaged(path, "tensor '" + name + "' is not described by an object");
  Entry entry;
  entry.name = name;
  const Json& dtype = member(json, "dtype", path, name);
  const auto known = dtype.is_string() ? dtype_of(dtype.get<std::string>()) : std::nullopt;
  if (!known)
    damaged(path, "tensor '" + name + "' has the unknown dtype " + shortened(dtype.dump(), 100));
  entry.dtype = *known;
  entry.sizes = read_counts(member(json, "shape", path, name), path, "the shape of '" + name + "'");
  const auto offsets =
      read_counts(member(json, "data_offsets", path, name), path, "data_offsets of '" + name + "'");
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    damaged(path, "data_offsets of '" + name + "' are not a begin and an end");
  }
  entry.begin = static_cast<std::uint64_t>(offsets[0]);
  entry.end = static_cast<std::uint64_t>(offsets[1]);
  const std::uint64_t bytes = needed_bytes(entry, path);
  if (entry.end - entry.begin != bytes) {
    damaged(path, "tensor '" + name + "' needs " + std::to_string(bytes) + " bytes and has " +
                      std::to_string(entry.end - entry.begin));
  }
  return entry;
}

Json parse_header(std::span<const std::byte> bytes, const std::string& path) {
  const auto* begin = reinterpret_cast<const char*>(bytes.data());
  // By depth; JSON that says two things about one tensor says nothing.
  std::map<int, std::set<std::string>> names;
  std::string twice;
  const auto note_names = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) names[depth + 1].clear();
    if (event != Json::parse_event_t::key) return true;
    const auto& name = parsed.get_ref<const std::string&>();
    if (!names[depth].insert(name).second) twice = name;
    return true;
  };
  try {
    Json header = Json::parse(begin, begin + bytes.size(), note_names);
    if (!twice.empty()) damaged(path, "it holds '" + twice + "' twice");
    if (!header.is_object()) damaged(path, "the header is not a JSON object");
    return header;
  } catch (const Json::exception& error) {
    damaged(path, "the header is not JSON (" + shortened(error.what(), 300) + ")");
  }
}

void check_metadata(const Json& json, const std::string& path) {
  const auto is_string = [](const Json& value) { return value.is_string(); };
  if (json.is_object() && std::all_of(json.begin(), json.end(), is_string)) return;
  damaged(path, "__metadata__ is not an object of strings");
}

std::vector<Entry> read_entries(const Json& header, std::uint64_t data_bytes,
                                const std::string& path) {
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name == "__metadata__") {
      check_metadata(json, path);
    } else {
      entries.push_back(read_entry(name, json, path));
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& left, const Entry& right) {
    return std::pair(left.begin, left.end) < std::pair(right.begin, right.end);
  });
  std::uint64_t covered = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != covered) {
      damaged(path, "tensor '" + entry.name + "' begins at byte " + std::to_string(entry.begin) +
                        " of the data, not where the one before it ends (" +
                        std::to_string(covered) + ")");
    }
    covered = entry.end;
    if (covered > data_bytes) damaged(path, "cut off within tensor '" + entry.name + "'");
  }
  if (covered != data_bytes) damaged(path, "bytes after the last tensor");
  return entries;
}

// Tensors are used where they lie, except where their elements are not aligned.
Tensor make_tensor(const Entry& entry, const MappedFile& file, std::byte* data) {
  auto address = reinterpret_cast<std::uintptr_t>(data);
  if (address % std::min<std::size_t>(dtype_size(entry.dtype), 8) != 0) {
    Tensor copy = Tensor::empty(entry.dtype, entry.sizes);
    std::memcpy(copy.data(), data, entry.end - entry.begin);
    return copy;
  }
  return Tensor::view(data, entry.dtype, entry.sizes, contiguous_strides(entry.sizes), file.memory);
}

Json describe(const NamedTensor& named, std::uint64_t begin, const std::string& path) {
  const char* dtype = name_of(named.tensor.dtype());
  if (dtype == nullptr) {
    throw Error(ErrorKind::kInvalidArgument,
                "safetensors has no dtype " + std::string(dtype_name(named.tensor.dtype())) +
                    ", that of '" + named.name + "'",
                path);
  }
  const std::uint64_t bytes = byte_count(named.tensor.dtype(), named.tensor.sizes()).value();
  return {
      {"dtype", dtype}, {"shape", named.tensor.sizes()}, {"data_offsets", {begin, begin + bytes}}};
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

NamedTensors read_safetensors(const std::string& path) {
  const MappedFile file = map_file(path);
  const auto bytes = file.bytes();
  if (bytes.size() < kLengthBytes) damaged(path, "shorter than its own header");
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), kLengthBytes);
  if (header_bytes > kMaximumHeader || header_bytes > bytes.size() - kLengthBytes) {
    damaged(path, "its header would be " + std::to_string(header_bytes) + " bytes long");
  }
  const auto data = bytes.subspan(kLengthBytes + header_bytes);
  const Json header = parse_header(bytes.subspan(kLengthBytes, header_bytes), path);

  NamedTensors tensors;
  for (const Entry& entry : read_entries(header, data.size(), path)) {
    tensors.push_back({entry.name, make_tensor(entry, file, data.data() + entry.begin)});
  }
  return tensors;
}

void write_safetensors(const std::string& path, const NamedTensors& tensors) {
  NamedTensors ordered = tensors;
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& left, const auto& right) {
    return dtype_size(left.tensor.dtype()) > dtype_size(right.tensor.dtype());
  });
  Json header = Json::object();
  std::uint64_t end = 0;
  for (const NamedTensor& named : ordered) {
    header[named.name] = describe(named, end, path);
    end = header[named.name]["data_offsets"][1];
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception&) {
    throw Error(ErrorKind::kInvalidArgument, "a tensor's name is not valid UTF-8", path);
  }
  text.append((8 - text.size() % 8) % 8, ' ');

  ReplacedFile replaced(path);
  std::unique_ptr<std::FILE, CloseFile> file(std::fopen(replaced.path().c_str(), "wb"));
  const auto put = [&](const void* data, std::size_t size) {
    if (file != nullptr && (size == 0 || std::fwrite(data, 1, size, file.get()) == size)) return;
    throw WriteError(path, errno);
  };
  const std::uint64_t length = text.size();
  put(&length, sizeof length);
  put(text.data(), text.size());
  for (const NamedTensor& named : ordered) {
    const Tensor tensor = packed(named.tensor);
    put(tensor.data(), byte_count(tensor.dtype(), tensor.sizes()).value());
  }
  if (std::fclose(file.release()) != 0) throw WriteError(path, errno);
  replaced.commit();
}

}  // namespace unfuse::tensor_io
