// Damage at random and damage everywhere: every file gives a graph or an error, and a graph that is
// given is valid. Meant for the sanitizers as much as for itself.
#include <gtest/gtest.h>

#include <random>

#include "ir/print.h"
#include "ir/verify.h"
#include "pt2/exported_program.h"
#include "pt2/write.h"
#include "support/archives/archive_editor.h"
#include "unfuse/error.h"

namespace unfuse::pt2 {
namespace {

using nlohmann::json;

struct Counts {
  int read = 0;
  int refused = 0;
};

// Touches all that a reader of the program could.
void use(const ExportedProgram& program) {
  verify(program.graph);
  EXPECT_FALSE(print(program.graph, {true, true}).empty());
  std::int64_t sum = 0;
  for (const GraphInput& input : program.graph.inputs()) {
    if (!input.data.defined() || input.data.numel() == 0) continue;
    std::int64_t last = 0;
    for (std::size_t i = 0; i < input.data.sizes().size(); ++i) {
      last += (input.data.sizes()[i] - 1) * input.data.strides()[i];
    }
    const auto size = static_cast<std::int64_t>(dtype_size(input.data.dtype()));
    const auto* bytes = input.data.data_as<unsigned char>();
    sum += bytes[0] + bytes[(last + 1) * size - 1];
  }
  EXPECT_GE(sum, 0);
}

// What can be read can be written, and comes back as it was; or it cannot, and the error says so.
void write_and_compare(const ExportedProgram& program, const std::string& path) {
  try {
    write(program, path);
  } catch (const Error& error) {
    const bool told = error.kind() == ErrorKind::kInvalidFile ||
                      error.kind() == ErrorKind::kUnsupported ||
                      error.kind() == ErrorKind::kInvalidArgument;
    EXPECT_TRUE(told) << error.what();
    return;
  }
  EXPECT_EQ(print(read(path, program.model).graph), print(program.graph));
}

void read_damaged(const std::string& bytes, Counts& counts) {
  const TemporaryFile file(bytes);
  try {
    const ExportedProgram program = read(file.path());
    use(program);
    // Some of them: a write costs more than a read.
    if (counts.read++ % 4 != 0) return;
    const TemporaryFile written("");
    write_and_compare(program, written.path());
  } catch (const Error& error) {
    ++counts.refused;
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidFile) << error.what();
    EXPECT_EQ(error.where(), file.path()) << error.what();
  }
}

const char* const kFiles[] = {"reader/weights.pt2", "reader/sizes.pt2", "reader/opaque.pt2",
                              "reader/signature.pt2", "reader/lists.pt2"};

std::size_t random_below(std::mt19937& random, std::size_t limit) {
  return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
}

TEST(Fuzz, FlippedBytes) {
  std::mt19937 random(1);
  Counts counts;
  for (const char* name : kFiles) {
    const std::string whole = file_bytes(name);
    for (int i = 0; i < 800; ++i) {
      std::string bytes = whole;
      const int flips = 1 << random_below(random, 5);
      for (int flip = 0; flip < flips; ++flip) {
        bytes[random_below(random, bytes.size())] ^=
            static_cast<char>(1U << random_below(random, 8));
      }
      read_damaged(bytes, counts);
    }
  }
  EXPECT_GT(counts.read, 0);
  EXPECT_GT(counts.refused, 0);
}

// The zip's own structures, which random flips seldom hit.
TEST(Fuzz, FlippedBytesInTheDirectory) {
  std::mt19937 random(2);
  Counts counts;
  const std::string whole = file_bytes("reader/nested.pt2");
  const std::size_t directory = directory_offset(whole);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = whole;
    const std::size_t place = directory + random_below(random, whole.size() - directory);
    bytes[place] = static_cast<char>(random_below(random, 256));
    read_damaged(bytes, counts);
  }
  EXPECT_GT(counts.refused, 0);
}

TEST(Fuzz, Truncations) {
  std::mt19937 random(3);
  Counts counts;
  for (const char* name : kFiles) {
    const std::string whole = file_bytes(name);
    for (int i = 0; i < 200; ++i) {
      read_damaged(whole.substr(0, 1 + random_below(random, whole.size() - 1)), counts);
    }
  }
  EXPECT_EQ(counts.read, 0);
}

// Bytes of the JSON changed in archives that are otherwise in order, checksums included.
TEST(Fuzz, FlippedBytesInTheJson) {
  std::mt19937 random(4);
  Counts counts;
  for (const char* name : kFiles) {
    ArchiveEditor editor(name);
    const std::string whole = editor.member("models/model.json").bytes;
    for (int i = 0; i < 500; ++i) {
      std::string& text = editor.member("models/model.json").bytes;
      text = whole;
      const std::size_t place = random_below(random, text.size());
      const std::string digits = "0123456789-{}[]\",:abcs'()";
      text[place] = digits[random_below(random, digits.size())];
      read_damaged(editor.bytes(), counts);
    }
  }
  EXPECT_GT(counts.read, 0);
  EXPECT_GT(counts.refused, 0);
}

void collect_paths(const json& tree, const json::json_pointer& path,
                   std::vector<json::json_pointer>& paths) {
  if (!path.empty()) paths.push_back(path);
  if (tree.is_object()) {
    for (const auto& [key, child] : tree.items()) collect_paths(child, path / key, paths);
  }
  if (tree.is_array()) {
    for (std::size_t i = 0; i < tree.size(); ++i) collect_paths(tree[i], path / i, paths);
  }
}

// What can stand in the place of a value, other than it.
std::vector<json> replacements(const json& value) {
  std::vector<json> others = {nullptr,
                              true,
                              "text",
                              json::array(),
                              json::object(),
                              0,
                              -1,
                              INT64_MAX,
                              INT64_MIN,
                              UINT64_MAX,
                              1e300,
                              json::array({value}),
                              json::object({{"as_int", 3}})};
  if (value.is_number_integer()) {
    others.push_back(value.get<std::int64_t>() + 1);
    others.push_back(std::int64_t{1} << 40);
  }
  if (value.is_string()) {
    others.push_back(value.get<std::string>() + "x");
    others.push_back("x");
    others.push_back("Mul(Symbol('s77'), Integer(4611686018427387904))");
  }
  if (value.is_array() && !value.empty()) {
    json longer = value;
    longer.push_back(value.back());
    others.push_back(longer);
    json shorter = value;
    shorter.erase(0);
    others.push_back(shorter);
  }
  return others;
}

// Every value of the JSON deleted, and replaced by others. Of paths that differ in indices alone,
// only the first few are tried.
void damage_everywhere(const char* name, const std::string& member, int limit, Counts& counts) {
  ArchiveEditor editor(name);
  const json whole = json::parse(editor.member(member).bytes);
  std::vector<json::json_pointer> paths;
  collect_paths(whole, json::json_pointer(), paths);
  std::map<std::string, int> seen;
  for (const json::json_pointer& path : paths) {
    std::string shape;
    bool in_digits = false;
    for (const char character : path.to_string()) {
      const bool digit = character >= '0' && character <= '9';
      if (!digit || !in_digits) shape += digit ? '#' : character;
      in_digits = digit;
    }
    if (++seen[shape] > limit) continue;
    const auto try_json = [&](const json& damaged) {
      editor.member(member).bytes = damaged.dump();
      read_damaged(editor.bytes(), counts);
    };
    json without = whole;
    json& parent = without[path.parent_pointer()];
    if (parent.is_object()) parent.erase(path.back());
    if (parent.is_array()) parent.erase(std::stoul(path.back()));
    try_json(without);
    for (const json& other : replacements(whole[path])) {
      json damaged = whole;
      damaged[path] = other;
      try_json(damaged);
    }
  }
}

TEST(Fuzz, EveryValueOfTheModel) {
  Counts counts;
  for (const char* name : {"reader/sizes.pt2", "reader/opaque.pt2", "reader/mutations.pt2"}) {
    damage_everywhere(name, "models/model.json", 1, counts);
  }
  EXPECT_GT(counts.read, 100);
  EXPECT_GT(counts.refused, 1000);
}

TEST(Fuzz, EveryValueOfTheWeights) {
  Counts counts;
  damage_everywhere("reader/weights.pt2", "data/weights/model_weights_config.json", 1, counts);
  damage_everywhere("reader/weights.pt2", "data/constants/model_constants_config.json", 1, counts);
  EXPECT_GT(counts.read, 10);
  EXPECT_GT(counts.refused, 100);
}

}  // namespace
}  // namespace unfuse::pt2
