#include "tensor_io/npz.h"

#include <unzip.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "tensor_io/files.h"
#include "tensor_io/npy.h"
#include "unfuse/error.h"

namespace unfuse::tensor_io {
namespace {

constexpr std::size_t kLongestName = 4096;
// Deflate cannot shrink data further than this: a larger claim is a lie, not worth the memory.
constexpr std::uint64_t kBestCompression = 1040;
constexpr std::size_t kChunk = std::size_t{1} << 28;

[[noreturn]] void damaged(const std::string& where, const std::string& cause) {
  throw Error(ErrorKind::kInvalidFile, cause, where);
}

struct CloseUnzip {
  void operator()(void* archive) const { unzClose(archive); }
};

struct CloseZip {
  void operator()(void* archive) const { zipClose(archive, nullptr); }
};

/// The archive's current member.
struct Member {
  std::string name;
  std::uint64_t compressed_bytes = 0;
  std::uint64_t bytes = 0;
};

Member describe_member(unzFile archive, const std::string& path) {
  unz_file_info64 info{};
  std::string name(kLongestName, '\0');
  if (unzGetCurrentFileInfo64(archive, &info, name.data(), kLongestName, nullptr, 0, nullptr, 0) !=
          UNZ_OK ||
      info.size_filename >= kLongestName) {
    damaged(path, "damaged zip archive");
  }
  name.resize(info.size_filename);
  if ((info.flag & 1U) != 0) damaged(path, "member '" + name + "' is encrypted");
  if (info.compression_method != 0 && info.compression_method != Z_DEFLATED) {
    damaged(path, "member '" + name + "' is compressed in a way that NumPy does not use (method " +
                      std::to_string(info.compression_method) + ")");
  }
  return {name, info.compressed_size, info.uncompressed_size};
}

std::shared_ptr<std::byte> read_member(unzFile archive, const Member& member,
                                       const std::string& where) {
  if (unzOpenCurrentFile(archive) != UNZ_OK) damaged(where, "damaged zip member");
  std::shared_ptr<std::byte> bytes(static_cast<std::byte*>(std::malloc(member.bytes + 1)),
                                   std::free);
  if (bytes == nullptr) damaged(where, "does not fit into memory");
  std::uint64_t filled = 0;
  while (filled < member.bytes) {
    const auto wanted =
        static_cast<unsigned>(std::min<std::uint64_t>(kChunk, member.bytes - filled));
    const int got = unzReadCurrentFile(archive, bytes.get() + filled, wanted);
    if (got <= 0) damaged(where, "damaged or cut off within its compressed data");
    filled += static_cast<std::uint64_t>(got);
  }
  if (unzCloseCurrentFile(archive) != UNZ_OK) damaged(where, "its checksum is wrong");
  return bytes;
}

std::vector<std::int64_t> fortran_strides(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> reversed(sizes.rbegin(), sizes.rend());
  auto strides = contiguous_strides(reversed);
  std::reverse(strides.begin(), strides.end());
  return strides;
}

Tensor make_tensor(const std::shared_ptr<std::byte>& bytes, std::uint64_t size,
                   const std::string& where) {
  const NpyHeader header = parse_npy_header({bytes.get(), size}, where);
  const auto needed = byte_count(header.dtype, header.sizes);
  if (!needed || *needed != size - header.bytes) {
    damaged(where, "its shape needs " + (needed ? std::to_string(*needed) : "too many") +
                       " bytes, the array has " + std::to_string(size - header.bytes));
  }
  // Copied into aligned memory: an .npy header of old NumPy ends on multiples of 16 only.
  Tensor tensor = Tensor::empty(header.dtype, header.sizes);
  if (*needed > 0) std::memcpy(tensor.data(), bytes.get() + header.bytes, *needed);
  if (!header.fortran_order) return tensor;
  return Tensor::view(tensor.data(), header.dtype, header.sizes, fortran_strides(header.sizes),
                      tensor.storage());
}

NamedTensor read_current(unzFile archive, std::uint64_t file_bytes, const std::string& path) {
  const Member member = describe_member(archive, path);
  std::string name = member.name;
  const std::string where = path + ", member '" + name + "'";
  if (!name.ends_with(".npy")) damaged(where, "an .npz archive holds .npy arrays only");
  name.resize(name.size() - 4);
  if (member.compressed_bytes > file_bytes ||
      member.bytes / kBestCompression > member.compressed_bytes) {
    damaged(where, "its sizes cannot be true");
  }
  return {name, make_tensor(read_member(archive, member, where), member.bytes, where)};
}

/// Adds members to a zip archive.
class ZipWriter {
 public:
  ZipWriter(const std::string& file, const std::string& target)
      : archive_(zipOpen64(file.c_str(), APPEND_STATUS_CREATE)), target_(target) {
    check(archive_ != nullptr);
  }

  void add(const std::string& name, const std::string& header, const Tensor& tensor) {
    const std::uint64_t bytes = byte_count(tensor.dtype(), tensor.sizes()).value();
    const int zip64 = header.size() + bytes >= 0xffffffffU ? 1 : 0;
    const zip_fileinfo info{};
    check(zipOpenNewFileInZip64(archive_.get(), name.c_str(), &info, nullptr, 0, nullptr, 0,
                                nullptr, 0 /* stored */, 0, zip64) == ZIP_OK);
    put(header.data(), header.size());
    put(tensor.data_as<std::byte>(), bytes);
    check(zipCloseFileInZip(archive_.get()) == ZIP_OK);
  }
  void close() { check(zipClose(archive_.release(), nullptr) == ZIP_OK); }

 private:
  void put(const void* data, std::uint64_t size) {
    const auto* next = static_cast<const std::byte*>(data);
    while (size > 0) {
      const auto part = static_cast<unsigned>(std::min<std::uint64_t>(kChunk, size));
      check(zipWriteInFileInZip(archive_.get(), next, part) == ZIP_OK);
      next += part;
      size -= part;
    }
  }
  void check(bool good) const {
    if (good) return;
    throw WriteError(target_, errno);
  }

  std::unique_ptr<void, CloseZip> archive_;
  std::string target_;
};

/// What np.savez(path) writes without arrays begins with the record that ends an archive. Some
/// versions of minizip take that for no archive, others even when it is cut.
bool begins_with_its_end(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), "PK\5\6", 4) == 0;
}

bool is_empty_archive(std::span<const std::byte> bytes) {
  constexpr std::size_t kRecord = 22;
  constexpr std::size_t kEntries = 10;
  return bytes.size() >= kRecord && bytes[kEntries] == std::byte{0} &&
         bytes[kEntries + 1] == std::byte{0};
}

}  // namespace

NamedTensors read_npz(const std::string& path) {
  const MappedFile file = map_file(path);  // and a clear error when it is not there
  const bool has_no_members = begins_with_its_end(file.bytes());
  if (has_no_members && is_empty_archive(file.bytes())) return {};
  const std::unique_ptr<void, CloseUnzip> archive(unzOpen64(path.c_str()));
  if (archive == nullptr || has_no_members) damaged(path, "not a zip archive, as .npz files are");
  unz_global_info64 info{};
  if (unzGetGlobalInfo64(archive.get(), &info) != UNZ_OK) damaged(path, "damaged zip archive");

  NamedTensors tensors;
  for (std::uint64_t i = 0; i < info.number_entry; ++i) {
    const int found = i == 0 ? unzGoToFirstFile(archive.get()) : unzGoToNextFile(archive.get());
    if (found != UNZ_OK) damaged(path, "damaged zip archive");
    NamedTensor read = read_current(archive.get(), file.size, path);
    if (find(tensors, read.name) != nullptr) {
      damaged(path, "two arrays are named '" + read.name + "'");
    }
    tensors.push_back(std::move(read));
  }
  return tensors;
}

void write_npz(const std::string& path, const NamedTensors& tensors) {
  // Headers first: a dtype that NumPy lacks is found before anything is written.
  std::vector<std::string> headers;
  for (const NamedTensor& named : tensors) {
    headers.push_back(npy_header(named.tensor, path + ", '" + named.name + "'"));
  }
  ReplacedFile replaced(path);
  ZipWriter writer(replaced.path(), path);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    writer.add(tensors[i].name + ".npy", headers[i], packed(tensors[i].tensor));
  }
  writer.close();
  replaced.commit();
}

}  // namespace unfuse::tensor_io
