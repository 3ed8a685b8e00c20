#include "onnx/write.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "support/temporary_folder.h"
#include "tensor_io/files.h"

namespace unfuse::onnx {
namespace {

class WriteModel : public testing::TemporaryFolder {
 protected:
  static Initializer weight(const std::string& name, std::int64_t count) {
    Initializer made{name, Tensor::empty(DType::kFloat32, {count})};
    std::fill_n(made.data.data_as<float>(), count, 1.5F);
    return made;
  }

  static Model model(std::int64_t count) {
    Model made;
    made.name = "main";
    made.inputs = {{"x", DType::kFloat32, {count}}};
    made.outputs = {{"y", DType::kFloat32, {count}}};
    made.initializers = {weight("small", 3), weight("w", count), weight("v", count)};
    made.nodes = {{"Add", "y", {"x", "w"}, {"y"}, {}, {"layers.0", "model.py:3"}}};
    return made;
  }

  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
};

TEST_F(WriteModel, OneFile) {
  write_model(model(1000), path("m.onnx"));
  EXPECT_EQ(files(), std::set<std::string>({"m.onnx"}));
  EXPECT_GT(std::filesystem::file_size(path("m.onnx")), 8000U);
}

TEST_F(WriteModel, WeightsThatDoNotFitHaveAFileOfTheirOwn) {
  write_model(model(1000), path("m.onnx"), 2000);
  EXPECT_EQ(files(), std::set<std::string>({"m.onnx", "m.onnx.data"}));
  EXPECT_LE(std::filesystem::file_size(path("m.onnx")), 2000U);
  // Each begins at a page.
  const std::string data = testing::slurp(path("m.onnx.data"));
  ASSERT_EQ(data.size(), 4096U + 4000);
  float last = 0;
  std::memcpy(&last, data.data() + data.size() - sizeof last, sizeof last);
  EXPECT_EQ(last, 1.5F);
  EXPECT_EQ(data[4000], 0);
  const std::string text = testing::slurp(path("m.onnx"));
  EXPECT_NE(text.find("m.onnx.data"), std::string::npos);
}

TEST_F(WriteModel, AGraphThatIsTooLongByItself) {
  put("m.onnx", "old");
  EXPECT_THROW(write_model(model(1000), path("m.onnx"), 50), Error);
  EXPECT_EQ(testing::slurp(path("m.onnx")), "old");
  EXPECT_EQ(files(), std::set<std::string>({"m.onnx"}));
}

TEST_F(WriteModel, WhatCannotBeWrittenLeavesTheOldFile) {
  put("m.onnx", "old");
  std::filesystem::create_directories(folder_ / "m.onnx.data" / "in the way");
  EXPECT_THROW(write_model(model(1000), path("m.onnx"), 2000), tensor_io::WriteError);
  EXPECT_EQ(testing::slurp(path("m.onnx")), "old");
  EXPECT_EQ(files(), std::set<std::string>({"m.onnx", "m.onnx.data"}));
  EXPECT_THROW(write_model(model(1), path("missing/m.onnx")), tensor_io::WriteError);
}

}  // namespace
}  // namespace unfuse::onnx
