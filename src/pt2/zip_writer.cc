#include "pt2/zip_writer.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <memory>

#include "pt2/failure.h"
#include "tensor_io/files.h"

namespace unfuse::pt2 {
namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint64_t kLargest32 = 0xffffffff;
constexpr std::uint16_t kUtf8Names = 0x0800;
constexpr std::uint16_t kVersionOfZip64 = 45;
constexpr std::size_t kCopiedAtOnce = std::size_t{1} << 20;

// Little-endian fields, one after the other.
class Record {
 public:
  Record& u16(std::uint64_t value) { return number(value, 2); }
  Record& u32(std::uint64_t value) { return number(value, 4); }
  Record& u64(std::uint64_t value) { return number(value, 8); }
  Record& text(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Record& number(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }
  std::string bytes_;
};

std::uint64_t limited(std::uint64_t value) { return std::min(value, kLargest32); }

// Room that makes the data begin where it should, in a field of its own, as torch makes it.
void pad(Record& extra, std::uint64_t begin) {
  constexpr std::uint64_t kHeader = 4;
  const std::uint64_t data = begin + extra.bytes().size() + kHeader;
  const std::uint64_t room = (kAlignment - data % kAlignment) % kAlignment;
  extra.text("FB").u16(room).text(std::string(room, 'Z'));
}

std::uint64_t mixed(std::uint64_t hash, std::string_view bytes) {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace

ZipWriter::ZipWriter(const std::string& path, std::string root)
    : path_(path), root_(std::move(root)) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw tensor_io::WriteError(path, errno);
}

ZipWriter::~ZipWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void ZipWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw tensor_io::WriteError(path_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(done));
    position_ += static_cast<std::uint64_t>(done);
  }
}

void ZipWriter::begin(const std::string& name, std::uint64_t size, std::uint32_t checksum) {
  constexpr std::uint64_t kFixed = 30;
  const Member member{root_ + "/" + name, position_, size, checksum};
  const bool large = size >= kLargest32;
  Record extra;
  if (large) extra.u16(1).u16(16).u64(size).u64(size);
  pad(extra, position_ + kFixed + member.name.size());
  Record header;
  header.text("PK\x03\x04").u16(large ? kVersionOfZip64 : 0).u16(kUtf8Names).u16(0).u32(0);
  header.u32(checksum).u32(large ? kLargest32 : size).u32(large ? kLargest32 : size);
  header.u16(member.name.size()).u16(extra.bytes().size());
  header.text(member.name).text(extra.bytes());
  members_.push_back(member);
  write(header.bytes());
}

void ZipWriter::add(const std::string& name, std::string_view bytes) {
  const auto checksum = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  begin(name, bytes.size(), static_cast<std::uint32_t>(checksum));
  write(bytes);
}

void ZipWriter::copy_through_memory(const MappedFile& from, std::uint64_t offset,
                                    std::uint64_t size) {
  const auto buffer = std::make_unique<char[]>(kCopiedAtOnce);
  while (size > 0) {
    const std::size_t count = std::min<std::uint64_t>(size, kCopiedAtOnce);
    if (from.read_at(offset, buffer.get(), count) != count) {
      fail(from.path(), "the file became shorter while it was copied");
    }
    write({buffer.get(), count});
    offset += count;
    size -= count;
  }
}

void ZipWriter::copy(const std::string& name, const MappedFile& from, const ZipEntry& entry) {
  begin(name, entry.size, entry.checksum);
  auto offset = static_cast<off64_t>(entry.offset);
  std::uint64_t left = entry.size;
  while (left > 0) {
    const ssize_t done =
        ::copy_file_range(from.descriptor(), &offset, descriptor_, nullptr, left, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == ENOSPC) throw tensor_io::WriteError(path_, errno);
    // Pipes, other file systems, old kernels.
    if (done <= 0) break;
    left -= static_cast<std::uint64_t>(done);
    position_ += static_cast<std::uint64_t>(done);
  }
  copy_through_memory(from, entry.offset + (entry.size - left), left);
}

std::string ZipWriter::content_id() const {
  constexpr std::uint64_t kStart = 0xcbf29ce484222325;
  std::uint64_t names = kStart;
  std::uint64_t checksums = kStart;
  for (const Member& member : members_) {
    names = mixed(names, member.name.substr(root_.size()));
    checksums = mixed(checksums, Record().u32(member.checksum).bytes());
  }
  char text[2 * 20 + 1];
  std::snprintf(text, sizeof(text), "%020" PRIu64 "%020" PRIu64, names, checksums);
  return text;
}

// The records for large files are always written, as torch does.
void ZipWriter::finish() {
  const std::uint64_t start = position_;
  for (const Member& member : members_) {
    const bool large = member.size >= kLargest32;
    const bool far = member.header >= kLargest32;
    Record extra;
    if (large || far) {
      extra.u16(1).u16((large ? 16 : 0) + (far ? 8 : 0));
      if (large) extra.u64(member.size).u64(member.size);
      if (far) extra.u64(member.header);
    }
    const std::uint16_t version = large || far ? kVersionOfZip64 : 0;
    Record entry;
    entry.text("PK\x01\x02").u16(version).u16(version).u16(kUtf8Names).u16(0).u32(0);
    entry.u32(member.checksum).u32(limited(member.size)).u32(limited(member.size));
    entry.u16(member.name.size()).u16(extra.bytes().size()).u16(0).u16(0).u16(0).u32(0);
    entry.u32(limited(member.header)).text(member.name).text(extra.bytes());
    write(entry.bytes());
  }
  const std::uint64_t end = position_;
  const std::uint64_t count = members_.size();
  const std::uint64_t few = std::min<std::uint64_t>(count, 0xffff);
  Record records;
  records.text("PK\x06\x06").u64(44).u16(kVersionOfZip64).u16(kVersionOfZip64).u32(0).u32(0);
  records.u64(count).u64(count).u64(end - start).u64(start);
  records.text("PK\x06\x07").u32(0).u64(end).u32(1);
  records.text("PK\x05\x06").u16(0).u16(0).u16(few).u16(few);
  records.u32(limited(end - start)).u32(limited(start)).u16(0);
  write(records.bytes());
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) throw tensor_io::WriteError(path_, errno);
}

}  // namespace unfuse::pt2
