// Files whose numbers were changed a little, so that most of them still read: compiled and run.
// Whatever a file says, kernels must stay within their buffers; the sanitizers see whether they do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "support/archives/archive_editor.h"
#include "unfuse/program.h"

namespace unfuse {
namespace {

using nlohmann::json;
using pt2::ArchiveEditor;
using pt2::TemporaryFile;

struct Counts {
  int run = 0;
  int refused = 0;
};

// Zeros, in the smallest size that the program takes and that is not empty if it can be.
std::vector<Tensor> make_inputs(const Program& program) {
  std::vector<Tensor> inputs;
  for (const TensorInfo& info : program.inputs()) {
    std::vector<std::int64_t> sizes;
    for (const SizeInfo& size : info.sizes) {
      sizes.push_back(std::min(std::max<std::int64_t>(size.minimum, 3), size.maximum));
    }
    inputs.push_back(Tensor::empty(info.dtype, sizes));
    const auto bytes = static_cast<std::size_t>(inputs.back().numel()) * dtype_size(info.dtype);
    std::memset(inputs.back().data(), 0, bytes);
  }
  return inputs;
}

void run_damaged(const std::string& bytes, Counts& counts) {
  const TemporaryFile file(bytes);
  try {
    CompileOptions options;
    options.threads = 1;
    const Program program = Program::load(file.path(), options);
    program.run(make_inputs(program));
    ++counts.run;
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::kInternal) << error.what();
    ++counts.refused;
  }
}

void collect_integers(json& tree, std::vector<json*>& integers) {
  if (tree.is_number_integer()) integers.push_back(&tree);
  if (!tree.is_structured()) return;
  for (auto& [key, child] : tree.items()) {
    // Subtrees that say nothing about arithmetic.
    if (key == "kind" || key == "hint" || key == "schema_version" || key == "opset_version") {
      continue;
    }
    collect_integers(child, integers);
  }
}

void damage_numbers(const char* name, int tries, Counts& counts) {
  std::mt19937 random(5);
  ArchiveEditor editor(name);
  const std::string whole = editor.member("models/model.json").bytes;
  for (int i = 0; i < tries; ++i) {
    editor.member("models/model.json").bytes = whole;
    editor.edit_model([&](json& model) {
      std::vector<json*> integers;
      collect_integers(model, integers);
      const int changes = 1 + static_cast<int>(random() % 2);
      for (int change = 0; change < changes; ++change) {
        json& integer = *integers[random() % integers.size()];
        const auto value = integer.get<std::int64_t>();
        const std::int64_t others[] = {value + 1, value - 1, 0, 1, -1, 2 * value};
        integer = others[random() % std::size(others)];
      }
    });
    run_damaged(editor.bytes(), counts);
  }
}

TEST(DamagedProgram, NumbersThatAreALittleOff) {
  Counts counts;
  for (const char* name :
       {"arithmetic.pt2", "bert.pt2", "encoder_dynamic.pt2", "attention_forms.pt2", "vit.pt2",
        "mutations.pt2", "reader/lists.pt2", "reader/bounded.pt2", "reader/nested.pt2"}) {
    damage_numbers(name, 100, counts);
  }
  EXPECT_GT(counts.run, 20);
  EXPECT_GT(counts.refused, 100);
}

}  // namespace
}  // namespace unfuse
