#include "support/archives/archive_editor.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "pt2/archive_directory.h"
#include "pt2/mapped_file.h"

namespace unfuse::pt2 {
namespace {

class LittleEndian {
 public:
  LittleEndian& u16(std::uint64_t value) { return append(value, 2); }
  LittleEndian& u32(std::uint64_t value) { return append(value, 4); }
  LittleEndian& text(const std::string& value) {
    bytes_ += value;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  LittleEndian& append(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> (8 * i));
    return *this;
  }
  std::string bytes_;
};

// An extra field that makes the data begin at a multiple of `alignment`.
std::string padding(std::size_t data_offset, std::size_t alignment) {
  std::size_t length = (alignment - data_offset % alignment) % alignment;
  if (length == 0) return "";
  while (length < 4) length += alignment;
  return LittleEndian().text("FB").u16(length - 4).text(std::string(length - 4, 'Z')).bytes();
}

// What both headers of a member have in common.
std::string common_header(const ArchiveEditor::Member& member, std::size_t extra_length) {
  const auto checksum =
      crc32_z(0, reinterpret_cast<const Bytef*>(member.bytes.data()), member.bytes.size());
  return LittleEndian()
      .u16(20)
      .u16(member.flags)
      .u16(member.method)
      .u16(0)
      .u16(0)
      .u32(checksum)
      .u32(member.bytes.size())
      .u32(member.bytes.size())
      .u16(member.name.size())
      .u16(extra_length)
      .bytes();
}

}  // namespace

TemporaryFile::TemporaryFile(const std::string& bytes) {
  static std::atomic<int> count = 0;
  const std::string name = "unfuse_" + std::to_string(::getpid()) + "_" + std::to_string(count++);
  path_ = (std::filesystem::temp_directory_path() / (name + ".pt2")).string();
  std::ofstream(path_, std::ios::binary) << bytes;
}

TemporaryFile::~TemporaryFile() { std::filesystem::remove(path_); }

std::string data_path(const std::string& name) {
  return std::string(UNFUSE_TEST_DATA) + "/" + name;
}

std::string file_bytes(const std::string& name) {
  std::ifstream stream(data_path(name), std::ios::binary);
  if (!stream) throw std::runtime_error("no test file " + name);
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  return bytes.str();
}

std::size_t directory_offset(const std::string& bytes) {
  // The last record, which has no comment, holds it.
  std::size_t offset = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - 6 + i]);
    offset += static_cast<std::size_t>(byte) << (8 * i);
  }
  return offset;
}

ArchiveEditor::ArchiveEditor(const std::string& name) {
  const MappedFile file(data_path(name));
  for (const ZipEntry& entry : read_zip_directory(file)) {
    Member member;
    member.name = entry.name;
    member.bytes.resize(entry.size);
    file.read_at(entry.offset, member.bytes.data(), entry.size);
    members_.push_back(std::move(member));
  }
  root_ = members_.front().name.substr(0, members_.front().name.find('/') + 1);
}

ArchiveEditor::Member& ArchiveEditor::member(const std::string& name) {
  for (Member& member : members_) {
    if (member.name == root_ + name) return member;
  }
  throw std::runtime_error("no member " + name);
}

void ArchiveEditor::remove(const std::string& name) {
  member(name);
  std::erase_if(members_, [&](const Member& member) { return member.name == root_ + name; });
}

void ArchiveEditor::add(const std::string& name, const std::string& bytes) {
  members_.push_back({root_ + name, bytes});
}

void ArchiveEditor::edit_json(const std::string& name,
                              const std::function<void(nlohmann::json&)>& edit) {
  Member& edited = member(name);
  nlohmann::json tree = nlohmann::json::parse(edited.bytes);
  edit(tree);
  edited.bytes = tree.dump();
}

std::string ArchiveEditor::bytes(std::size_t alignment) const {
  constexpr std::size_t kLocalHeader = 30;
  std::string file;
  std::string directory;
  std::vector<std::size_t> header_offsets;
  for (const Member& member : members_) {
    std::size_t header_offset = file.size();
    const std::string extra = padding(header_offset + kLocalHeader + member.name.size(), alignment);
    if (member.same_data_as >= 0) {
      header_offset = header_offsets.at(static_cast<std::size_t>(member.same_data_as));
    } else {
      file +=
          "PK\x03\x04" + common_header(member, extra.size()) + member.name + extra + member.bytes;
    }
    header_offsets.push_back(header_offset);
    directory += LittleEndian()
                     .text("PK\x01\x02")
                     .u16(20)
                     .text(common_header(member, 0))
                     .u16(0)
                     .u16(0)
                     .u16(0)
                     .u32(0)
                     .u32(header_offset)
                     .text(member.name)
                     .bytes();
  }
  const std::size_t directory_offset = file.size();
  return file + directory +
         LittleEndian()
             .text("PK\x05\x06")
             .u16(0)
             .u16(0)
             .u16(members_.size())
             .u16(members_.size())
             .u32(directory.size())
             .u32(directory_offset)
             .u16(0)
             .bytes();
}

}  // namespace unfuse::pt2
