// The zip archive that torch.export.save writes: its directory, and its members' bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/archive_directory.h"
#include "pt2/mapped_file.h"

namespace unfuse::pt2 {

/// Bytes of a member, in the file's mapping. `begin` keeps the mapping alive.
struct MappedMember {
  std::shared_ptr<const std::byte> begin;
  std::uint64_t size = 0;
};

/// Member names are given without the archive's root directory: "models/model.json". Every offset
/// and size is checked against the file when it is opened; names that lead outside the archive and
/// names that occur twice are refused.
class Archive {
 public:
  /// Throws Error (kInvalidArgument, kInvalidFile) when the file is no archive of torch.export.save
  /// of torch 2.9 or newer.
  explicit Archive(const std::string& path);

  const std::string& path() const { return file_.path(); }
  bool has(std::string_view name) const { return members_.find(name) != members_.end(); }
  /// Names that start with `prefix` and end with `suffix`, without both; sorted.
  std::vector<std::string> names_between(std::string_view prefix, std::string_view suffix) const;

  /// All names, in the file's order.
  const std::vector<std::string>& names() const { return names_; }
  /// Where a member lies in file(). Throws Error (kInvalidFile) when there is no such member, or
  /// when it is compressed.
  const ZipEntry& member(std::string_view name) const;
  const MappedFile& file() const { return file_; }

  /// A copy of the member's bytes, its checksum verified. Throws Error (kInvalidFile) when there is
  /// no such member, or when it is compressed or damaged.
  std::string read(std::string_view name) const;

  /// The member's bytes in the mapping; their checksum is not verified, which would read all of
  /// them. Throws as read() does.
  MappedMember map(std::string_view name) const;

 private:
  MappedFile file_;
  std::vector<std::string> names_;
  std::map<std::string, ZipEntry, std::less<>> members_;
};

/// True for a relative path without empty, "." or ".." parts, backslashes or control characters.
bool is_safe_member_name(std::string_view name);

}  // namespace unfuse::pt2
