// Reading the directory of a zip file through minizip.
#include "pt2/archive_directory.h"

#include <minizip/unzip.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "pt2/archive.h"
#include "pt2/failure.h"

namespace unfuse::pt2 {
namespace {

// minizip reads headers a byte at a time; this gives it a window of the file to read from.
struct Stream {
  const MappedFile* file = nullptr;
  std::uint64_t position = 0;
  std::uint64_t window_start = 0;
  std::size_t window_size = 0;
  char window[4096];
};

Stream& stream_of(voidpf stream) { return *static_cast<Stream*>(stream); }

voidpf open_stream(voidpf opaque, const void* /*name*/, int /*mode*/) { return opaque; }

uLong read_stream(voidpf /*opaque*/, voidpf handle, void* buffer, uLong size) {
  Stream& stream = stream_of(handle);
  auto* destination = static_cast<char*>(buffer);
  uLong done = 0;
  while (done < size) {
    const bool inside = stream.position >= stream.window_start &&
                        stream.position - stream.window_start < stream.window_size;
    if (!inside) {
      stream.window_start = stream.position;
      stream.window_size =
          stream.file->read_at(stream.position, stream.window, sizeof(stream.window));
      if (stream.window_size == 0) break;
    }
    const std::size_t start = stream.position - stream.window_start;
    const std::size_t count = std::min<std::size_t>(size - done, stream.window_size - start);
    std::memcpy(destination + done, stream.window + start, count);
    done += count;
    stream.position += count;
  }
  return done;
}

uLong write_stream(voidpf, voidpf, const void*, uLong) { return 0; }

ZPOS64_T tell_stream(voidpf /*opaque*/, voidpf handle) { return stream_of(handle).position; }

long seek_stream(voidpf /*opaque*/, voidpf handle, ZPOS64_T offset, int origin) {
  Stream& stream = stream_of(handle);
  std::uint64_t base = 0;
  if (origin == ZLIB_FILEFUNC_SEEK_CUR) base = stream.position;
  if (origin == ZLIB_FILEFUNC_SEEK_END) base = stream.file->size();
  const std::uint64_t target = base + offset;
  if (target < base || target > stream.file->size()) return -1;
  stream.position = target;
  return 0;
}

int close_stream(voidpf, voidpf) { return 0; }
int error_of_stream(voidpf, voidpf) { return 0; }

class ZipFile {
 public:
  explicit ZipFile(const MappedFile& file) {
    stream_.file = &file;
    zlib_filefunc64_def functions = {open_stream, read_stream,  write_stream,    tell_stream,
                                     seek_stream, close_stream, error_of_stream, &stream_};
    handle_ = unzOpen2_64(file.path().c_str(), &functions);
  }
  ~ZipFile() {
    if (handle_ != nullptr) unzClose(handle_);
  }
  ZipFile(const ZipFile&) = delete;
  ZipFile& operator=(const ZipFile&) = delete;

  unzFile handle() const { return handle_; }

 private:
  Stream stream_;
  unzFile handle_ = nullptr;
};

// True when the record that ends a zip file stands at the end of this one. minizip is content with
// one anywhere in the last 64 KB; in a truncated archive that can be one of the sample inputs',
// which are a zip file inside the archive.
bool ends_as_zip(const MappedFile& file) {
  constexpr std::uint64_t kRecord = 22;
  constexpr std::uint64_t kLongestComment = 65535;
  if (file.size() < kRecord) return false;
  std::string tail(std::min(file.size(), kRecord + kLongestComment), '\0');
  if (file.read_at(file.size() - tail.size(), tail.data(), tail.size()) != tail.size()) {
    return false;
  }
  for (std::size_t start = tail.size() - kRecord + 1; start-- > 0;) {
    if (tail.compare(start, 4, "PK\x05\x06") != 0) continue;
    const auto low = static_cast<unsigned char>(tail[start + 20]);
    const auto high = static_cast<unsigned char>(tail[start + 21]);
    const std::size_t comment = low + 256U * high;
    if (start + kRecord + comment == tail.size()) return true;
  }
  return false;
}

// Only some versions of minizip take an archive without members for one.
bool has_no_members(const MappedFile& file) {
  constexpr std::size_t kEntries = 10;
  char start[kEntries + 2] = {};
  return file.read_at(0, start, sizeof(start)) == sizeof(start) &&
         std::string_view(start, 4) == "PK\x05\x06" && start[kEntries] == 0 &&
         start[kEntries + 1] == 0;
}

[[noreturn]] void fail_to_find_directory(const MappedFile& file) {
  char magic[4] = {};
  const bool zip_start =
      file.read_at(0, magic, sizeof(magic)) == 4 && std::memcmp(magic, "PK\x03\x04", 4) == 0;
  if (zip_start) fail(file.path(), "the zip directory at the file's end is missing: truncated");
  fail(file.path(), "not a zip file",
       "give a .pt2 file that torch.export.save of torch 2.9 or newer wrote");
}

// Where the data of the current member begins, by its local header; minizip compares that header
// with the directory.
std::uint64_t data_offset(const MappedFile& file, unzFile handle, const std::string& name) {
  int method = 0;
  int level = 0;
  if (unzOpenCurrentFile2(handle, &method, &level, /*raw=*/1) != UNZ_OK) {
    fail(file.path(), "the zip header of member '" + name + "' does not match the directory");
  }
  const std::uint64_t offset = unzGetCurrentFileZStreamPos64(handle);
  unzCloseCurrentFile(handle);
  return offset;
}

ZipEntry current_entry(const MappedFile& file, unzFile handle) {
  unz_file_info64 info = {};
  char name[1024];
  if (unzGetCurrentFileInfo64(handle, &info, name, sizeof(name), nullptr, 0, nullptr, 0) !=
      UNZ_OK) {
    fail(file.path(), "the zip directory is damaged");
  }
  if (info.size_filename == 0 || info.size_filename >= sizeof(name)) {
    fail(file.path(), "the zip directory is damaged: a member's name is empty or too long");
  }
  ZipEntry entry;
  entry.name.assign(name, info.size_filename);
  if (entry.name.back() == '/') return entry;  // a directory: no data
  if (!is_safe_member_name(entry.name)) {
    fail(file.path(), "member '" + entry.name + "' leads outside the archive");
  }
  entry.offset = data_offset(file, handle, entry.name);
  entry.size = info.compressed_size;
  entry.checksum = static_cast<std::uint32_t>(info.crc);
  const bool encrypted = (info.flag & 1U) != 0;
  entry.stored = info.compression_method == 0 && !encrypted;
  if (entry.stored && info.compressed_size != info.uncompressed_size) {
    fail(file.path(), "the zip directory is damaged: member '" + entry.name + "' has two sizes");
  }
  if (entry.offset > file.size() || entry.size > file.size() - entry.offset) {
    fail(file.path(), "member '" + entry.name + "' reaches past the end of the file");
  }
  return entry;
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(const MappedFile& file) {
  if (!ends_as_zip(file)) fail_to_find_directory(file);
  if (has_no_members(file)) return {};
  const ZipFile zip(file);
  if (zip.handle() == nullptr) fail_to_find_directory(file);
  unz_global_info64 global = {};
  if (unzGetGlobalInfo64(zip.handle(), &global) != UNZ_OK) fail_to_find_directory(file);
  std::vector<ZipEntry> entries;
  if (global.number_entry == 0) return entries;
  int status = unzGoToFirstFile(zip.handle());
  while (status == UNZ_OK) {
    ZipEntry entry = current_entry(file, zip.handle());
    if (entry.name.back() != '/') entries.push_back(std::move(entry));
    status = unzGoToNextFile(zip.handle());
  }
  if (status != UNZ_END_OF_LIST_OF_FILE) fail(file.path(), "the zip directory is damaged");
  return entries;
}

}  // namespace unfuse::pt2
