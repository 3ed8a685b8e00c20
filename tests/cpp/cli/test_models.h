// The models of tests/data, with torch's inputs and outputs.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/matching.h"
#include "tensor_io/tensor_file.h"
#include "unfuse/program.h"

namespace unfuse::cli {

inline std::string test_data(const std::string& name) {
  return std::string(UNFUSE_TEST_DATA) + "/" + name;
}

inline std::string model_file(const std::string& model) { return test_data(model + ".pt2"); }

/// "inputs", "outputs" or "written" of a model.
inline std::string tensors_file(const std::string& model, const std::string& which) {
  return test_data(model + "." + which + ".safetensors");
}

/// An op in it is left to torch: it is there to be refused.
inline constexpr const char* kUnsupportedModel = "left_to_torch";

/// All models that run, by name.
inline std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(UNFUSE_TEST_DATA)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".pt2" && name != kUnsupportedModel) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// The corners of what the exporter writes, but for the file of several models.
inline std::vector<std::string> reader_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(test_data("reader"))) {
    if (entry.path().stem() != "several") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::vector<Tensor> read_inputs(const Program& program, const std::string& model) {
  const std::string file = tensors_file(model, "inputs");
  return match_tensors(program.inputs(), tensor_io::read(file), file, "input");
}

}  // namespace unfuse::cli
