#include <gtest/gtest.h>

#include <filesystem>

#include "ir/print.h"
#include "ir/verify.h"
#include "pt2/exported_program.h"

namespace unfuse::pt2 {
namespace {

TEST(Read, EveryModelOfTheTree) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(UNFUSE_TEST_DATA)) {
    if (entry.path().extension() != ".pt2") continue;
    SCOPED_TRACE(entry.path().string());
    for (const std::string& name : model_names(entry.path().string())) {
    const ExportedProgram program = read(entry.path().string(), name);
    verify(program.graph);
    if (std::getenv("PRINT")) std::cout << entry.path() << "\n" << print(program.graph, {true, true});
    }
  }
}

}  // namespace
}  // namespace unfuse::pt2
