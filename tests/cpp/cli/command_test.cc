// The built command, run as a process.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "support/archives/archive_editor.h"
#include "support/temporary_folder.h"
#include "test_models.h"

namespace unfuse::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::slurp;

struct Finished {
  int code = -1;
  std::string out;
  std::string err;
};

class Command : public testing::TemporaryFolder {
 protected:
  /// Runs `unfuse ARGUMENTS` through the shell; `to` is where the shell sends standard output.
  Finished unfuse(const std::string& arguments, const std::string& to) const {
    return shell(fmt::format("exec {} {} {}", UNFUSE_COMMAND, arguments, to));
  }
  Finished unfuse(const std::string& arguments) const {
    return unfuse(arguments, fmt::format(">{}", path("out")));
  }
  /// What `script` prints goes nowhere, but for what it sends to path("out") itself.
  Finished shell(const std::string& script) const {
    std::ofstream(path("out"));
    std::ofstream(path("script")) << script;
    const std::string line =
        "sh " + path("script") + " >/dev/null 2>" + path("err") + " </dev/null";
    const int status = std::system(line.c_str());
    fs::remove(path("script"));
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(path("out")), slurp(path("err"))};
  }
};

void expect_one_helpful_line(const Finished& finished, int code, const std::string& words) {
  EXPECT_EQ(finished.code, code) << finished.err;
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(finished.err.starts_with("unfuse: ")) << finished.err;
  EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
  EXPECT_NE(finished.err.find(words), std::string::npos) << finished.err;
}

TEST_F(Command, TheListOfOpsIsUpToDate) {
  const Finished listed = unfuse("ops");
  EXPECT_EQ(listed.code, kDone);
  EXPECT_EQ(listed.out, slurp(fs::path(UNFUSE_TEST_DATA) / "../../docs/ops.md"))
      << "the tables have changed: unfuse ops > docs/ops.md";
}

TEST_F(Command, HelpAndVersion) {
  EXPECT_TRUE(unfuse("--version").out.starts_with("unfuse "));
  const Finished help = unfuse("--help");
  EXPECT_EQ(help.code, kDone);
  for (const char* word : {"inspect", "run", "verify", "decompose", "Exit codes"}) {
    EXPECT_NE(help.out.find(word), std::string::npos) << word;
  }
  for (const char* command : {"inspect", "run", "verify", "decompose"}) {
    const Finished usage = unfuse(std::string(command) + " --help");
    EXPECT_EQ(usage.code, kDone);
    EXPECT_NE(usage.out.find("model"), std::string::npos) << usage.out;
  }
  EXPECT_EQ(unfuse("").code, kWrongUse);
}

TEST_F(Command, WrongUseGetsOneLine) {
  const std::string model = model_file("encoder_layer");
  expect_one_helpful_line(unfuse("fly"), kWrongUse, "fly");
  expect_one_helpful_line(unfuse("run"), kWrongUse, "model");
  expect_one_helpful_line(unfuse("run " + model + " --frobnicate"), kWrongUse, "--frobnicate");
  expect_one_helpful_line(unfuse("run " + model + " --random --threads none"), kWrongUse,
                          "threads");
  expect_one_helpful_line(unfuse("run " + model), kWrongUse, "--random");
  expect_one_helpful_line(unfuse("run missing.pt2 --random"), kWrongUse, "missing.pt2");
  expect_one_helpful_line(unfuse("run " + model + " --inputs missing.npz"), kWrongUse,
                          "missing.npz");
  expect_one_helpful_line(unfuse("run " + model + " --random --outputs x.txt"), kWrongUse,
                          ".safetensors or .npz");
  expect_one_helpful_line(unfuse("run " + model + " --random --outputs no/such/x.npz"), kWrongUse,
                          "no/such");
  expect_one_helpful_line(unfuse("run " + model + " --random --size s0=3"), kWrongUse, "s0");
  expect_one_helpful_line(unfuse("inspect " + model + " --size s0"), kWrongUse, "NAME=SIZE");
  expect_one_helpful_line(unfuse("inspect " + model + " --graph=closed"), kWrongUse, "closed");
}

TEST_F(Command, NumbersAreRefusedInOneWay) {
  const std::string model = model_file("encoder_dynamic");
  const std::string run = "run " + model + " --random ";
  const std::string verify = "verify " + model + " --inputs " +
                             tensors_file("encoder_dynamic", "inputs") + " --expect " +
                             tensors_file("encoder_dynamic", "outputs") + " ";
  const struct {
    std::string command, flag;
    bool whole;
  } flags[] = {{run, "--seed ", true},    {run, "--threads ", true},  {run, "--repeat ", true},
               {run, "--size s6=", true}, {verify, "--rtol ", false}, {verify, "--atol ", false}};
  const std::string huge(400, '9');
  for (const auto& [command, flag, whole] : flags) {
    for (const std::string text : {"-1", "nan", "inf", "", "0x10", "3x", "3 ", " 3", "1,5"}) {
      const Finished finished = unfuse(fmt::format("{}{}'{}'", command, flag, text));
      SCOPED_TRACE(flag + text);
      expect_one_helpful_line(finished, kWrongUse, flag.substr(0, flag.find_first_of(" =")));
      EXPECT_NE(finished.err.find(text), std::string::npos) << finished.err;
      EXPECT_LT(finished.err.size(), 100U) << finished.err;
    }
    expect_one_helpful_line(unfuse(command + flag + huge + "e999"), kWrongUse, "is not a");
    if (!whole) continue;
    expect_one_helpful_line(unfuse(command + flag + huge), kWrongUse, "too large; at most");
    expect_one_helpful_line(unfuse(command + flag + "-" + huge), kWrongUse, "too small; at least");
    expect_one_helpful_line(unfuse(command + flag + "1.5"), kWrongUse, "not a whole number");
  }
}

TEST_F(Command, FlagsThatWouldBeOverlookedAreRefused) {
  const std::string model = model_file("encoder_dynamic");
  const std::string run =
      "run " + model + " --inputs " + tensors_file("encoder_dynamic", "inputs") + " ";
  expect_one_helpful_line(unfuse(run + "--size s6=3"), kWrongUse, "--random");
  expect_one_helpful_line(unfuse(run + "--seed 3"), kWrongUse, "--random");
  expect_one_helpful_line(unfuse(run + "--random"), kWrongUse, "--inputs");
  expect_one_helpful_line(unfuse(run + "--outputs ''"), kWrongUse, "--outputs");
  expect_one_helpful_line(unfuse(run + "--threads"), kWrongUse, "a value is missing");
  expect_one_helpful_line(unfuse(run + "--threads 1 --threads 2"), kWrongUse, "more than once");
  expect_one_helpful_line(unfuse(run + "--fully-masked-rows one"), kWrongUse,
                          "neither op nor zero");
  expect_one_helpful_line(unfuse("inspect " + model + " --graph --json"), kWrongUse, "--graph");
}

TEST_F(Command, WrongInputsGetOneLine) {
  const std::string run =
      "run " + model_file("encoder_layer") + " --inputs " + path("in.safetensors");
  const auto give = [&](const std::string& name, DType dtype, std::vector<std::int64_t> sizes) {
    tensor_io::write(path("in.safetensors"), {{name, Tensor::empty(dtype, std::move(sizes))}});
  };
  give("source", DType::kFloat32, {2, 5, 16});
  expect_one_helpful_line(unfuse(run), kWrongUse, "src");
  give("src", DType::kInt64, {2, 5, 16});
  expect_one_helpful_line(unfuse(run), kWrongUse, "src");
  give("src", DType::kFloat32, {2, 5, 15});
  expect_one_helpful_line(unfuse(run), kWrongUse, "src");
}

TEST_F(Command, DamagedFilesGetOneLine) {
  std::ofstream(path("text.pt2")) << "hello";
  expect_one_helpful_line(unfuse("inspect " + path("text.pt2")), kBadFile, "text.pt2");
  const std::string whole = slurp(model_file("encoder_layer"));
  std::ofstream(path("half.pt2"), std::ios::binary) << whole.substr(0, whole.size() / 2);
  expect_one_helpful_line(unfuse("run --random " + path("half.pt2")), kBadFile, "half.pt2");
}

/// A call of each command, and of all that prints in another way.
std::vector<std::string> calls_that_print() {
  const std::string model = model_file("encoder_layer");
  const std::string verify = "verify " + model + " --inputs " +
                             tensors_file("encoder_layer", "inputs") + " --expect " +
                             tensors_file("encoder_layer", "outputs");
  return {"--help",
          "--version",
          "run --help",
          "ops",
          "inspect " + model,
          "inspect --json " + model,
          "inspect --graph " + model,
          "run --random " + model,
          "run --random --json " + model,
          verify,
          verify + " --json"};
}

TEST_F(Command, WhatCannotBePrintedIsAnError) {
  for (const std::string& call : calls_that_print()) {
    SCOPED_TRACE(call);
    expect_one_helpful_line(unfuse(call, ">/dev/full"), kNotWritten, "No space left on device");
    expect_one_helpful_line(unfuse(call, ">&-"), kNotWritten, "standard output");
    // Where there is no place for a message, the exit code still tells.
    EXPECT_EQ(unfuse(call, ">/dev/full 2>/dev/full").code, kNotWritten);
    EXPECT_EQ(unfuse(call, ">&- 2>&-").code, kNotWritten);
  }
  EXPECT_EQ(unfuse("fly", "2>/dev/full").code, kWrongUse);
  EXPECT_EQ(unfuse("", "2>/dev/full").code, kWrongUse);
}

TEST_F(Command, AClosedPipeEndsItQuietly) {
  for (const std::string& call : calls_that_print()) {
    SCOPED_TRACE(call);
    // The reader has gone before anything is written.
    const auto print_into_nothing = [&](const std::string& before) {
      return shell(fmt::format("{{ sleep 0.05; {} {} {}; echo $? >{}; }} | :", before,
                               UNFUSE_COMMAND, call, path("out")));
    };
    const Finished killed = print_into_nothing("");
    EXPECT_EQ(killed.out, "141\n") << "128 and SIGPIPE";
    EXPECT_EQ(killed.err, "");
    const Finished told = print_into_nothing("trap '' PIPE;");
    EXPECT_EQ(told.out, "0\n");
    EXPECT_EQ(told.err, "");
  }
}

TEST_F(Command, OutputsThatCannotBeWrittenLeaveNothing) {
  const std::string run = "run --random " + model_file("encoder_layer") + " --outputs ";
  for (const char* name : {"out.npz", "out.safetensors"}) {
    // A limit of 512 bytes stands for a full disk. It would end a process that does not expect it.
    const std::string limited =
        fmt::format("ulimit -f 1; exec {} {}{}", UNFUSE_COMMAND, run, path(name));
    expect_one_helpful_line(shell(limited), kNotWritten, "cannot write: File too large");
    EXPECT_FALSE(fs::exists(path(name)));
    std::ofstream(path(name)) << "old";
    expect_one_helpful_line(shell(limited), kNotWritten, path(name));
    EXPECT_EQ(slurp(path(name)), "old");
    fs::remove(path(name));

    fs::create_symlink("/dev/full", path(name));
    expect_one_helpful_line(unfuse(run + path(name)), kNotWritten, "No space left on device");
    fs::remove(path(name));

    fs::create_directory(path(name));
    expect_one_helpful_line(unfuse(run + path(name)), kWrongUse, "is a folder");
    fs::remove(path(name));
  }
  for (const auto& entry : fs::directory_iterator(folder_)) {
    EXPECT_TRUE(entry.path().filename() == "out" || entry.path().filename() == "err")
        << entry.path();
  }
}

TEST_F(Command, Decomposes) {
  const std::string call =
      "decompose " + model_file("encoder_dynamic") + " -o " + path("plain.pt2");
  const Finished opened = unfuse(call + " --strict");
  EXPECT_EQ(opened.code, kDone) << opened.err;
  EXPECT_TRUE(opened.out.starts_with("opened 2 aten._transformer_encoder_layer_fwd.default\n"))
      << opened.out;
  const Json summary = Json::parse(unfuse("inspect --json " + path("plain.pt2")).out);
  EXPECT_EQ(summary["ops"]["aten.scaled_dot_product_attention.default"], 2);
  EXPECT_FALSE(summary["ops"].contains("aten._transformer_encoder_layer_fwd.default"));

  // What is opened already stays as it is, and a file may be its own output.
  const std::string again = "decompose --json " + path("plain.pt2") + " -o " + path("plain.pt2");
  EXPECT_EQ(Json::parse(unfuse(again).out)["opened"], Json::object());
  EXPECT_EQ(Json::parse(unfuse(again + " --to core").out)["opened"].size(), 1U);
  EXPECT_EQ(unfuse("run --random " + path("plain.pt2")).code, kDone);
}

TEST_F(Command, DecomposeSaysWhatIsLeft) {
  const std::string call = "decompose " + model_file("encoder_layer") + " -o " + path("plain.pt2");
  const std::string other = " --only _native_multi_head_attention";
  const Finished left = unfuse(call + other);
  EXPECT_EQ(left.code, kDone) << left.err;
  EXPECT_NE(left.out.find("opened nothing\nleft 1 aten._transformer_encoder_layer_fwd.default"),
            std::string::npos)
      << left.out;
  EXPECT_NE(left.out.find("it was not asked for"), std::string::npos) << left.out;
  fs::remove(path("plain.pt2"));

  expect_one_helpful_line(unfuse(call + other + " --strict"), kUnsupported, "it was not asked for");
  expect_one_helpful_line(unfuse(call + " --only relu"), kWrongUse, "'relu' is no op that can be");
  expect_one_helpful_line(unfuse(call + " --only scaled_dot_product_attention"), kWrongUse,
                          "what attention is opened to");
  expect_one_helpful_line(unfuse(call + " --to onnx"), kWrongUse, "onnx");
  expect_one_helpful_line(unfuse("decompose " + model_file("encoder_layer")), kWrongUse,
                          "--output");
  expect_one_helpful_line(unfuse("decompose --strict --to core " + model_file(kUnsupportedModel) +
                                 " -o " + path("plain.pt2")),
                          kUnsupported, "aten.fft_rfft.default");
  EXPECT_FALSE(fs::exists(path("plain.pt2")));
}

TEST_F(Command, DecomposeLeavesAnOldFileWhereItCannotWrite) {
  const std::string output = path("plain.pt2");
  const std::string call = "decompose " + model_file("encoder_layer") + " -o " + output;
  std::ofstream(output) << "old";
  const std::string limited = fmt::format("ulimit -f 1; exec {} {}", UNFUSE_COMMAND, call);
  expect_one_helpful_line(shell(limited), kNotWritten, "cannot write: File too large");
  EXPECT_EQ(slurp(output), "old");
  fs::remove(output);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);

  fs::create_symlink("/dev/full", output);
  expect_one_helpful_line(unfuse(call), kNotWritten, "No space left on device");
  fs::remove(output);
  fs::create_directory(output);
  expect_one_helpful_line(unfuse(call), kWrongUse, "is a folder");
  expect_one_helpful_line(unfuse(call + "/nowhere/plain.pt2"), kWrongUse, "there is no folder");
}

TEST_F(Command, WhatDoesNotFitIntoMemoryIsNamed) {
  const std::string run = "run --random " + test_data("reader/bounded.pt2") + " --size s17=";
  expect_one_helpful_line(unfuse(run + "1000000000000"), kUnsupported, "input 'y'");
  expect_one_helpful_line(unfuse(run + "1000000000000"), kUnsupported, "4.00 TB");
  expect_one_helpful_line(unfuse(run + "9223372036854775807"), kUnsupported, "input 'y'");
  expect_one_helpful_line(
      unfuse("inspect " + test_data("reader/bounded.pt2") + " --size s17=9223372036854775807"),
      kWrongUse, "s17=9223372036854775807");
}

TEST_F(Command, WhatCannotRunIsNamed) {
  expect_one_helpful_line(unfuse("run --random " + model_file(kUnsupportedModel)), kUnsupported,
                          "aten.fft_rfft.default");
}

TEST_F(Command, VerifiesWhatTorchGave) {
  for (const std::string& model : model_names()) {
    const Finished finished =
        unfuse("verify " + model_file(model) + " --inputs " + tensors_file(model, "inputs") +
               " --expect " + tensors_file(model, "outputs"));
    EXPECT_EQ(finished.code, kDone) << model << "\n" << finished.out << finished.err;
    EXPECT_NE(finished.out.find("ok"), std::string::npos) << finished.out;
    EXPECT_EQ(finished.err, "") << "progress is for terminals only";
  }
}

TEST_F(Command, VerifyTellsWhatDiffersAndWhere) {
  tensor_io::NamedTensors expected = tensor_io::read(tensors_file("encoder_layer", "outputs"));
  expected.front().tensor.data_as<float>()[2 * 16 + 3] += 1;  // of [2, 5, 16]
  tensor_io::write(path("expected.npz"), expected);
  const std::string verify = "verify " + model_file("encoder_layer") + " --inputs " +
                             tensors_file("encoder_layer", "inputs") + " --expect " +
                             path("expected.npz");
  const Finished finished = unfuse(verify);
  EXPECT_EQ(finished.code, kMismatch) << finished.err;
  EXPECT_NE(finished.out.find("MISMATCH: 1 of 160"), std::string::npos) << finished.out;
  EXPECT_NE(finished.out.find("[0, 2, 3]"), std::string::npos) << finished.out;
  EXPECT_EQ(unfuse(verify + " --atol 2").code, kDone);

  const Json json = Json::parse(unfuse(verify + " --json").out);
  EXPECT_EQ(json["outputs"][0]["mismatches"], 1);
  EXPECT_NEAR(json["outputs"][0]["max_abs"].get<double>(), 1, 1e-4);
  EXPECT_EQ(json["outputs"][0]["max_abs_at"], (Json{0, 2, 3}));
}

TEST_F(Command, VerifySaysThatZeroWasExpected) {
  tensor_io::NamedTensors expected = tensor_io::read(tensors_file("encoder_layer", "outputs"));
  expected.front().tensor.data_as<float>()[4 * 16 + 1] = 0;
  tensor_io::write(path("expected.npz"), expected);
  const std::string verify = "verify " + model_file("encoder_layer") + " --inputs " +
                             tensors_file("encoder_layer", "inputs") + " --expect " +
                             path("expected.npz");
  const Finished finished = unfuse(verify);
  EXPECT_EQ(finished.code, kMismatch);
  EXPECT_NE(finished.out.find("inf"), std::string::npos) << finished.out;
  const Json json = Json::parse(unfuse(verify + " --json").out);
  EXPECT_TRUE(json["outputs"][0]["max_rel"].is_null()) << json;
  EXPECT_EQ(json["outputs"][0]["max_rel_at"], (Json{0, 4, 1}));
}

TEST_F(Command, RunsFromOneFileToAnother) {
  const std::string model = "encoder_layer_padding_bool";
  for (const char* name : {"out.safetensors", "out.npz"}) {
    const Finished finished = unfuse("run " + model_file(model) + " --inputs " +
                                     tensors_file(model, "inputs") + " --outputs " + path(name));
    EXPECT_EQ(finished.code, kDone) << finished.err;
    EXPECT_EQ(unfuse("verify " + model_file(model) + " --inputs " + tensors_file(model, "inputs") +
                     " --expect " + path(name) + " --rtol 0 --atol 0")
                  .code,
              kDone);
  }
}

TEST_F(Command, TakesArraysWithoutNamesInOrder) {
  const std::string model = "encoder_layer_padding_bool";
  const auto inputs = tensor_io::read(tensors_file(model, "inputs"));
  tensor_io::write(path("in.npz"), {{"arr_0", *tensor_io::find(inputs, "src")},
                                    {"arr_1", *tensor_io::find(inputs, "padding_mask")}});
  const Finished finished = unfuse("verify " + model_file(model) + " --inputs " + path("in.npz") +
                                   " --expect " + tensors_file(model, "outputs"));
  EXPECT_EQ(finished.code, kDone) << finished.out << finished.err;
}

TEST_F(Command, RandomInputsFollowTheSeedAndTheSizes) {
  const std::string run = "run " + model_file("encoder_dynamic") + " --random --outputs ";
  const Json inspected = Json::parse(unfuse("inspect --json " + model_file("encoder_dynamic")).out);
  std::string sizes;
  for (const auto& [name, range] : inspected["symbols"].items()) sizes += " --size " + name + "=3";
  EXPECT_EQ(unfuse(run + path("a.npz") + " --seed 1" + sizes).code, kDone);
  EXPECT_EQ(unfuse(run + path("b.npz") + " --seed 1" + sizes).code, kDone);
  EXPECT_EQ(unfuse(run + path("c.npz") + " --seed 2" + sizes).code, kDone);
  EXPECT_EQ(slurp(path("a.npz")), slurp(path("b.npz")));
  EXPECT_NE(slurp(path("a.npz")), slurp(path("c.npz")));
  EXPECT_EQ(tensor_io::read(path("a.npz")).front().tensor.sizes(),
            (std::vector<std::int64_t>{3, 3, 16}));
}

TEST_F(Command, SymbolicIntsAreInputsToo) {
  const std::string model = test_data("reader/sizes.pt2");
  const std::string run = "run --random " + model + " --outputs " + path("out.npz");
  const auto zeros = [&] {
    return tensor_io::find(tensor_io::read(path("out.npz")), "zeros")->sizes();
  };
  // Exported with 8 rows and a count of 5.
  EXPECT_EQ(unfuse(run).code, kDone);
  EXPECT_EQ(zeros(), (std::vector<std::int64_t>{17, 5}));
  EXPECT_EQ(unfuse(run + " --size s24=3 --size s77=2").code, kDone);
  EXPECT_EQ(zeros(), (std::vector<std::int64_t>{5, 3}));
  const Json json = Json::parse(unfuse("inspect --json " + model + " --size s24=3").out);
  EXPECT_EQ(json["inputs"][3]["type"], "int s24");
  EXPECT_EQ(json["sizes"]["s24"], 3);
  EXPECT_FALSE(json["memory"]["arena"].is_null());
}

TEST_F(Command, RepeatTellsTheLatency) {
  const std::string run = "run --random --repeat 5 --threads 1 " + model_file("encoder_layer");
  EXPECT_NE(unfuse(run).out.find("latency: "), std::string::npos);
  const Json json = Json::parse(unfuse(run + " --json").out);
  EXPECT_EQ(json["latency_ms"]["runs"], 5);
  EXPECT_GT(json["latency_ms"]["median"].get<double>(), 0);
}

TEST_F(Command, ProfileTellsWhereTheTimeGoes) {
  const std::string run = "run --random --repeat 3 --threads 1 " + model_file("encoder_layer");
  const Finished by_op = unfuse(run + " --profile");
  EXPECT_EQ(by_op.code, kDone) << by_op.err;
  for (const char* word : {"latency: ", "3 runs of ", "unfuse.attention", "GFLOP/s"}) {
    EXPECT_NE(by_op.out.find(word), std::string::npos) << word << " is not in\n" << by_op.out;
  }
  EXPECT_EQ(by_op.out.find("module"), std::string::npos);
  EXPECT_NE(unfuse(run + " --profile=node").out.find("module"), std::string::npos);
  // A flag takes no value but after '=': what follows may be the model.
  EXPECT_EQ(unfuse("run --random --profile " + model_file("encoder_layer")).code, kDone);
  expect_one_helpful_line(unfuse(run + " --profile=time"), kWrongUse, "--profile");

  const Json json = Json::parse(unfuse(run + " --profile --json").out);
  EXPECT_EQ(json["profile"]["runs"], 3);
  EXPECT_GT(json["profile"]["limits"]["flops_per_second"].get<double>(), 0);
  for (const Json& row : json["profile"]["rows"]) EXPECT_EQ(row["calls"].get<int>() % 3, 0);
}

TEST_F(Command, TraceIsWritten) {
  const std::string run = "run --random --threads 1 " + model_file("encoder_layer") + " --trace ";
  const Finished traced = unfuse(run + path("trace.json"));
  EXPECT_EQ(traced.code, kDone) << traced.err;
  const Json json = Json::parse(slurp(path("trace.json")));
  EXPECT_GT(json["traceEvents"].size(), 3U);
  expect_one_helpful_line(unfuse(run + path("nowhere/trace.json")), kWrongUse, "folder");
}

TEST_F(Command, RunTellsItsMemory) {
  const std::string run = "run --random --json " + model_file("encoder_layer");
  const Json json = Json::parse(unfuse(run).out);
  EXPECT_GT(json["memory_bytes"]["working"].get<std::int64_t>(), 0);
  EXPECT_NE(unfuse("run --random " + model_file("encoder_layer")).out.find("memory: "),
            std::string::npos);
}

TEST_F(Command, InspectTellsWhatThereIs) {
  const Finished text = unfuse("inspect " + model_file("encoder_dynamic"));
  EXPECT_EQ(text.code, kDone) << text.err;
  for (const char* word : {"src", "aten._transformer_encoder_layer_fwd.default", "layers.0",
                           "nothing left to torch", "working memory", "FLOP"}) {
    EXPECT_NE(text.out.find(word), std::string::npos) << word << " is not in\n" << text.out;
  }
  const Json json = Json::parse(unfuse("inspect --json " + model_file("encoder_dynamic")).out);
  EXPECT_EQ(json["graphs"], 1);
  EXPECT_EQ(json["graph_breaks"], 0);
  EXPECT_EQ(json["partitions"], 1);
  EXPECT_EQ(json["opened"]["aten._transformer_encoder_layer_fwd.default"], 2);
  EXPECT_EQ(json["left_to_torch"], Json::array());
  EXPECT_EQ(json["fused"].size(), 2U);
  EXPECT_EQ(json["memory"]["outputs"], json["memory"]["inputs"]);
  // Two layers of E 16, feed-forward 32, at the exported batch 2 and length 5: four projections of
  // E by E, two of E by 32, and attention.
  const std::int64_t tokens = 2 * 5;
  EXPECT_EQ(json["flops"], 2 * (2 * tokens * 16 * (4 * 16 + 2 * 32) + 4 * tokens * 5 * 16));
}

TEST_F(Command, InspectCountsFusedOpsAsTheFileHasThem) {
  const std::string layers = unfuse("inspect " + model_file("encoder_dynamic")).out;
  EXPECT_NE(layers.find("fused ops in the file: 2, all opened\n"), std::string::npos) << layers;
  const std::string attention = unfuse("inspect " + model_file("encoder_slow_path")).out;
  EXPECT_NE(attention.find("fused ops in the file: 1, all opened\n"
                           "  aten.scaled_dot_product_attention.default  inner.layers.0.self_attn"),
            std::string::npos)
      << attention;
  // Dropout in the attention cannot be opened.
  pt2::ArchiveEditor editor("encoder_slow_path.pt2");
  editor.edit_model([](Json& model) {
    for (Json& node : model["graph_module"]["graph"]["nodes"]) {
      if (node["target"] != "torch.ops.aten.scaled_dot_product_attention.default") continue;
      node["inputs"].push_back({{"name", "dropout_p"}, {"arg", {{"as_float", 0.5}}}, {"kind", 1}});
    }
  });
  const Finished left = unfuse("inspect " + put("dropout.pt2", editor.bytes()));
  EXPECT_NE(left.out.find("fused ops in the file: 1, 0 opened\n"), std::string::npos)
      << left.out << left.err;
}

TEST_F(Command, InspectTellsWherePaddedRowsAreNotEagers) {
  const auto notes = [&](const std::string& model) {
    const Json json = Json::parse(unfuse("inspect --json " + model_file(model)).out);
    std::string text;
    for (const Json& note : json["notes"]) text += note.get<std::string>() + "\n";
    return text;
  };
  const std::string note =
      "inner: with a left-aligned padding mask eager's nested tensors give "
      "zeros at padded rows, the exported graph computes them";
  EXPECT_NE(notes("encoder_slow_path").find(note), std::string::npos) << notes("encoder_slow_path");
  EXPECT_EQ(notes("encoder_dynamic"), "") << "no mask";
  EXPECT_EQ(notes("encoder_layer_padding_bool"), "") << "no encoder around it";
  EXPECT_NE(unfuse("inspect " + model_file("encoder_slow_path")).out.find("note: " + note),
            std::string::npos);
}

TEST_F(Command, PaddedRowsAreAsExportedOrZero) {
  const std::string model = model_file("encoder_slow_path");
  for (const char* rows : {"exported", "zero"}) {
    const Finished ran = unfuse("run --random --padded-rows " + std::string(rows) + " " + model);
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
  const Finished wrong = unfuse("run --random --padded-rows none " + model);
  EXPECT_NE(wrong.err.find("'none' is neither exported nor zero"), std::string::npos) << wrong.err;
}

TEST_F(Command, InspectNamesWhatIsLeftToTorch) {
  const Json json = Json::parse(unfuse("inspect --json " + model_file(kUnsupportedModel)).out);
  ASSERT_FALSE(json["left_to_torch"].empty());
  const Json& left = json["left_to_torch"][0];
  EXPECT_EQ(left["op"], "aten.fft_rfft.default");
  EXPECT_EQ(left["count"], 1);
  EXPECT_NE(left["source"].get<std::string>().find("make_models.py:"), std::string::npos);
  EXPECT_TRUE(json["memory"]["arena"].is_null());
}

TEST_F(Command, InspectPrintsTheGraph) {
  const std::string inspect = "inspect " + model_file("encoder_layer");
  const std::string fused = "aten._transformer_encoder_layer_fwd.default";
  EXPECT_NE(unfuse(inspect + " --graph").out.find(fused), std::string::npos);
  const std::string opened = unfuse(inspect + " --graph=opened").out;
  EXPECT_EQ(opened.find(fused), std::string::npos) << opened;
  EXPECT_NE(opened.find("unfuse.attention"), std::string::npos) << opened;
}

TEST_F(Command, WhatAFileSaysIsNoCommandToTheTerminal) {
  pt2::ArchiveEditor editor("encoder_layer.pt2");
  editor.edit_model([](Json& model) { model["torch_version"] = "2.13\x1b]0;owned\a"; });
  put("model.pt2", editor.bytes());
  const Finished finished = unfuse("inspect " + path("model.pt2"));
  EXPECT_EQ(finished.code, kDone) << finished.err;
  EXPECT_EQ(finished.out.find('\x1b'), std::string::npos);
  EXPECT_NE(finished.out.find("\\x1b]0;owned\\x07"), std::string::npos) << finished.out;
  const Finished refused = unfuse("fly\x1b[31m");
  EXPECT_EQ(refused.err.find('\x1b'), std::string::npos);
}

TEST_F(Command, WhatAFileSaysIsJsonInJson) {
  const std::string odd = "2.13\x1b\x7f\n \xc2\x9b größer";
  pt2::ArchiveEditor editor("encoder_layer.pt2");
  editor.edit_model([&](Json& model) { model["torch_version"] = odd; });
  put("model.pt2", editor.bytes());
  const Finished finished = unfuse("inspect --json " + path("model.pt2"));
  EXPECT_EQ(Json::parse(finished.out)["torch_version"], odd);
  for (const char* control : {"\x1b", "\x7f", "\xc2\x9b"}) {
    EXPECT_EQ(finished.out.find(control), std::string::npos);
  }
}

TEST_F(Command, InspectReadsEveryModel) {
  std::vector<std::string> models = reader_files();
  for (const std::string& model : model_names()) models.push_back(model_file(model));
  for (const std::string& model : models) {
    const Finished finished = unfuse("inspect --json " + model);
    EXPECT_EQ(finished.code, kDone) << model << ": " << finished.err;
    EXPECT_EQ(unfuse("inspect --graph=opened " + model).code, kDone) << model;
    // What inspect says can run, does.
    const bool runs = Json::parse(finished.out)["left_to_torch"].empty();
    EXPECT_EQ(unfuse("run --random " + model).code, runs ? kDone : kUnsupported) << model;
  }
}

}  // namespace
}  // namespace unfuse::cli
