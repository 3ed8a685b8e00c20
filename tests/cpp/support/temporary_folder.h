// Tests that read and write files, in a folder of their own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace unfuse::testing {

/// The bytes of a file; none when there is no such file.
inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Each test gets an empty folder, which goes with it.
class TemporaryFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    // Another checkout may run the same test at the same time.
    const std::string name = std::string("unfuse_") + test->test_suite_name() + "_" + test->name() +
                             "_" + std::to_string(::getpid());
    folder_ = std::filesystem::path(::testing::TempDir()) / name;
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  /// Writes a file, and returns its path.
  std::string put(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  std::filesystem::path folder_;
};

}  // namespace unfuse::testing
