// Good archives made into others, for tests of what the reader refuses.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace unfuse::pt2 {

/// A file that is gone when this is.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The bytes of a file under tests/data.
std::string file_bytes(const std::string& name);
std::string data_path(const std::string& name);

/// Where the directory of a zip file begins.
std::size_t directory_offset(const std::string& bytes);

class ArchiveEditor {
 public:
  struct Member {
    std::string name;  ///< with the root directory
    std::string bytes;
    std::uint16_t method = 0;
    std::uint16_t flags = 0;
    /// The directory gives it the data of this other member, by index, instead of its own.
    int same_data_as = -1;
  };

  /// Without members and without a root.
  ArchiveEditor() = default;
  /// Of a file under tests/data.
  explicit ArchiveEditor(const std::string& name);

  /// By its name without the root directory.
  Member& member(const std::string& name);
  void remove(const std::string& name);
  void add(const std::string& name, const std::string& bytes);
  void edit_json(const std::string& name, const std::function<void(nlohmann::json&)>& edit);
  void edit_model(const std::function<void(nlohmann::json&)>& edit) {
    edit_json("models/model.json", edit);
  }
  std::vector<Member>& members() { return members_; }
  const std::string& root() const { return root_; }

  /// A zip file whose members begin at multiples of `alignment`, as torch's do at 64.
  std::string bytes(std::size_t alignment = 64) const;

 private:
  std::string root_;
  std::vector<Member> members_;
};

}  // namespace unfuse::pt2
