#include "pt2/archive.h"

#include <zlib.h>

#include <algorithm>
#include <bit>

#include "pt2/failure.h"
#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

constexpr const char* kSaveAgain = "save it again with torch.export.save of torch 2.9 or newer";
constexpr std::string_view kFormatMember = "archive_format";
// Far above any program's JSON; a bound on what is copied and parsed.
constexpr std::uint64_t kLargestParsedMember = std::uint64_t{1} << 31;

std::string quoted(std::string_view name) {
  std::string text("'");
  text += name;
  text += '\'';
  return text;
}

// The directory that every member lies in, with its slash: where archive_format is.
std::string root_of(const MappedFile& file, const std::vector<ZipEntry>& entries) {
  for (const ZipEntry& entry : entries) {
    const std::size_t slash = entry.name.find('/');
    if (slash == std::string::npos) {
      if (entry.name == kFormatMember) return "";
      continue;
    }
    if (std::string_view(entry.name).substr(slash + 1) == kFormatMember) {
      return entry.name.substr(0, slash + 1);
    }
  }
  const auto holds = [&](std::string_view name) {
    return std::any_of(entries.begin(), entries.end(), [&](const ZipEntry& entry) {
      const std::string_view full = entry.name;
      return full == name || (full.size() > name.size() && full.ends_with(name) &&
                              full[full.size() - name.size() - 1] == '/');
    });
  };
  if (holds("serialized_exported_program.json")) {
    fail(file.path(), "an exported program in the format of torch 2.6 or older", kSaveAgain);
  }
  if (holds("data.pkl")) {
    fail(file.path(), "a file of torch.save or torch.jit.save, which holds pickled objects",
         "export the model with torch.export.export and save it with torch.export.save");
  }
  fail(file.path(), "a zip file without the member 'archive_format': not a torch.export archive",
       kSaveAgain);
}

// Members that overlap could make a small file claim any amount of data.
void refuse_overlap(const MappedFile& file, const std::vector<ZipEntry>& entries) {
  std::uint64_t left = file.size();
  for (const ZipEntry& entry : entries) {
    if (entry.size > left) fail(file.path(), "the zip directory is damaged: members overlap");
    left -= entry.size;
  }
}

bool has_control_character(std::string_view name) {
  return std::any_of(name.begin(), name.end(), [](char character) {
    return static_cast<unsigned char>(character) < 0x20 || character == 0x7f;
  });
}

}  // namespace

bool is_safe_member_name(std::string_view name) {
  if (name.find('\\') != std::string_view::npos || has_control_character(name)) return false;
  std::size_t start = 0;
  while (true) {
    const std::size_t end = std::min(name.find('/', start), name.size());
    const std::string_view part = name.substr(start, end - start);
    if (part.empty() || part == "." || part == "..") return false;
    if (end == name.size()) return true;
    start = end + 1;
  }
}

Archive::Archive(const std::string& path) : file_(path) {
  static_assert(std::endian::native == std::endian::little,
                "weights are mapped as they lie in the file, which is little-endian");
  std::vector<ZipEntry> entries = read_zip_directory(file_);
  const std::string root = root_of(file_, entries);
  refuse_overlap(file_, entries);
  for (ZipEntry& entry : entries) {
    if (!entry.name.starts_with(root)) {
      fail(path, "member " + quoted(entry.name) + " lies outside the archive's directory " +
                     quoted(root));
    }
    const std::string name = entry.name.substr(root.size());
    if (!members_.emplace(name, std::move(entry)).second) {
      fail(path, "member " + quoted(name) + " occurs twice");
    }
    names_.push_back(name);
  }
  const std::string format = read(kFormatMember);
  if (format != "pt2") fail(path, "archive format " + quoted(format) + ", not 'pt2'", kSaveAgain);
  const std::string order = read("byteorder");
  if (order == "big") {
    fail(path, "saved on a machine with big-endian byte order",
         "save it again on a little-endian machine (x86-64, aarch64)");
  }
  if (order != "little") fail(path, "unknown byte order " + quoted(order));
}

std::vector<std::string> Archive::names_between(std::string_view prefix,
                                                std::string_view suffix) const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : members_) {
    const bool fits = name.size() > prefix.size() + suffix.size() && name.starts_with(prefix) &&
                      name.ends_with(suffix);
    if (!fits) continue;
    names.push_back(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
  }
  return names;
}

const ZipEntry& Archive::member(std::string_view name) const {
  const auto found = members_.find(name);
  if (found == members_.end()) fail(path(), "member " + quoted(name) + " is missing");
  if (!found->second.stored) {
    fail(path(), "member " + quoted(name) + " is compressed or encrypted",
         "torch.export.save stores members as they are: do not repack the archive");
  }
  return found->second;
}

std::string Archive::read(std::string_view name) const {
  const ZipEntry& entry = member(name);
  if (entry.size > kLargestParsedMember) {
    fail(path(), "member " + quoted(name) + " is too large to parse");
  }
  std::string bytes(entry.size, '\0');
  if (file_.read_at(entry.offset, bytes.data(), bytes.size()) != bytes.size()) {
    fail(path(), "member " + quoted(name) + " ends early: the file became shorter");
  }
  const auto checksum = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (checksum != entry.checksum) {
    fail(path(), "member " + quoted(name) + " does not match its checksum");
  }
  return bytes;
}

MappedMember Archive::map(std::string_view name) const {
  const ZipEntry& entry = member(name);
  const std::shared_ptr<const std::byte> whole = file_.mapping();
  return {std::shared_ptr<const std::byte>(whole, whole.get() + entry.offset), entry.size};
}

}  // namespace unfuse::pt2
