#include "unfuse/profile.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "program/compiled_program.h"
#include "support/graph_parser.h"
#include "support/temporary_folder.h"
#include "unfuse/error.h"

namespace unfuse {
namespace {

CompiledProgram compile(const std::string& nodes, int threads) {
  pt2::ExportedProgram exported;
  exported.graph = testing::parse_graph(R"(
    symbol s0 in [2, 4096]
    input parameter %weight: f32[32, 64] from weight
    input user %x: f32[s0, 64] from x
  )" + nodes);
  Tensor weight = Tensor::empty(DType::kFloat32, {32, 64});
  std::fill_n(weight.data_as<float>(), weight.numel(), 0.5f);
  exported.graph.set_input_data(0, weight);
  CompileOptions options;
  options.threads = threads;
  return CompiledProgram(std::move(exported), options, "model.pt2");
}

/// A linear layer and what follows it, over `s0` rows.
CompiledProgram compile(int threads) {
  return compile(R"(
    %product = aten.linear.default(%x, %weight, None)
    %sum = aten.sum.dim_IntList(%product, [0])
    output user %sum
  )",
                 threads);
}

Tensor rows_of_ones(std::int64_t rows) {
  Tensor tensor = Tensor::empty(DType::kFloat32, {rows, 64});
  std::fill_n(tensor.data_as<float>(), tensor.numel(), 1.0f);
  return tensor;
}

Profile profile_of(const CompiledProgram& program, std::initializer_list<std::int64_t> runs) {
  Profiler profiler(1);
  for (const std::int64_t rows : runs) {
    const Tensor inputs[] = {rows_of_ones(rows)};
    program.run(inputs);
  }
  return profiler.stop();
}

const ProfileRow& row_of(const std::vector<ProfileRow>& rows, std::string_view op) {
  for (const ProfileRow& row : rows) {
    if (row.op == op) return row;
  }
  throw std::runtime_error("no row " + std::string(op));
}

TEST(Profile, CountsCallsAndWork) {
  const CompiledProgram program = compile(2);
  const Profile profile = profile_of(program, {8, 8, 100});
  EXPECT_EQ(profile.runs(), 3);
  EXPECT_GT(profile.seconds(), 0);
  EXPECT_GT(profile.limits().flops_per_second, 0);
  EXPECT_GT(profile.limits().bytes_per_second, 0);
  const std::vector<ProfileRow> rows = profile.rows(ProfileBy::kOp);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_GE(rows[0].seconds, rows[1].seconds);
  const ProfileRow& linear = row_of(rows, "aten.linear.default");
  EXPECT_EQ(linear.calls, 3);
  EXPECT_GT(linear.seconds, 0);
  EXPECT_LE(linear.seconds, profile.seconds());
  EXPECT_EQ(linear.flops, 2.0 * 64 * 32 * (8 + 8 + 100));
  // Rows of 64 are read and of 32 written, and all weights are read each time.
  EXPECT_GE(linear.bytes, 4.0 * ((64 + 32) * (8 + 8 + 100) + 3 * 32 * 64));
  EXPECT_EQ(row_of(rows, "aten.sum.dim_IntList").flops, 0);
}

TEST(Profile, CountsTheWorkOfTheTargetsOwnOps) {
  const CompiledProgram program = compile(R"(
    %product = aten.linear.default(%x, %weight, None)
    %positive = aten.relu.default(%product)
    output user %positive
  )",
                                          1);
  const std::vector<ProfileRow> rows = profile_of(program, {8}).rows(ProfileBy::kOp);
  EXPECT_EQ(row_of(rows, "unfuse.linear").flops, 2.0 * 64 * 32 * 8);
}

TEST(Profile, RowsByNodeTellThePlace) {
  const std::vector<ProfileRow> rows = profile_of(compile(1), {8, 9}).rows(ProfileBy::kNode);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].op, "aten.linear.default");
  EXPECT_EQ(rows[0].node, "product");
  EXPECT_EQ(rows[0].calls, 2);
  EXPECT_EQ(rows[1].node, "sum");
}

TEST(Profile, TableIsForPeople) {
  const std::string table = profile_of(compile(1), {8}).table();
  EXPECT_NE(table.find("1 run of "), std::string::npos) << table;
  EXPECT_NE(table.find("aten.linear.default"), std::string::npos) << table;
  EXPECT_NE(table.find("GFLOP/s"), std::string::npos) << table;
  EXPECT_NE(table.find("between calls"), std::string::npos) << table;
  EXPECT_EQ(table.find("nan"), std::string::npos) << table;
  EXPECT_EQ(table.find("inf"), std::string::npos) << table;
}

TEST(Profile, OfNothingIsEmpty) {
  Profiler profiler(1);
  const Profile profile = profiler.stop();
  EXPECT_EQ(profile.runs(), 0);
  EXPECT_TRUE(profile.rows(ProfileBy::kOp).empty());
  EXPECT_NE(profile.table().find("0 runs"), std::string::npos);
}

TEST(Profile, EndsWhenItIsStopped) {
  const CompiledProgram program = compile(1);
  const Profile first = profile_of(program, {8});
  const Tensor inputs[] = {rows_of_ones(8)};
  program.run(inputs);
  const Profile second = profile_of(program, {8, 8});
  EXPECT_EQ(first.runs(), 1);
  EXPECT_EQ(second.runs(), 2);
  Profiler profiler(1);
  profiler.stop();
  EXPECT_THROW(profiler.stop(), Error);
}

TEST(Profile, OneAtATime) {
  const Profiler profiler(1);
  try {
    const Profiler another(1);
    FAIL() << "a second profiler";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
  }
}

using ProfileFile = testing::TemporaryFolder;

TEST_F(ProfileFile, TraceIsWhatPerfettoReads) {
  // Many rows: both threads have a part.
  const Profile profile = profile_of(compile(2), {2048, 2048});
  profile.save_trace(path("trace.json"));
  std::ifstream file(path("trace.json"));
  const auto json = nlohmann::json::parse(file);
  int runs = 0, calls = 0, names = 0;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") == "M") {
      ++names;
      continue;
    }
    EXPECT_EQ(event.at("ph"), "X");
    EXPECT_GE(event.at("ts").get<double>(), 0);
    EXPECT_GE(event.at("dur").get<double>(), 0);
    runs += event.at("name") == "run" ? 1 : 0;
    if (event.at("name") != "aten.linear.default") continue;
    ++calls;
    EXPECT_EQ(event.at("args").at("node"), "product");
    EXPECT_GT(event.at("args").at("GFLOP/s").get<double>(), 0);
  }
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(calls, 2);
  EXPECT_GE(names, 1);
}

TEST(Profile, TraceThatCannotBeWritten) {
  const Profile profile = profile_of(compile(1), {8});
  try {
    profile.save_trace("/nowhere/trace.json");
    FAIL() << "written";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
  }
}

}  // namespace
}  // namespace unfuse
