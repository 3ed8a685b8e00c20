// The `unfuse` command: reads the command line, calls a subcommand, turns errors into one line and
// an exit code.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <new>
#include <sstream>

#include "cli/commands.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "ir/printable.h"
#include "tensor_io/files.h"
#include "unfuse/version.h"

namespace unfuse::cli {
namespace {

constexpr const char* kDescription =
    "Runs PyTorch models that torch.export.save wrote (.pt2), without Python and without torch.";

constexpr const char* kFooter =
    R"(Files of tensors are .safetensors (all dtypes) or .npz (NumPy has no bfloat16).

Examples:
  unfuse inspect model.pt2
  unfuse run model.pt2 --inputs in.safetensors --outputs out.safetensors
  unfuse run model.pt2 --random --size s0=8 --repeat 20 --profile
  unfuse verify model.pt2 --inputs in.npz --expect out.npz
  unfuse decompose model.pt2 -o plain.pt2
  unfuse export model.pt2 -o model.onnx --opset 23

verify: an element is equal when |got - expected| <= atol + rtol * |expected|; NaN equals NaN. "max rel" is
the largest |got - expected| / |expected|: inf where 0 is expected and something else came.

Exit codes:
  0  done; for verify: every output matches
  1  verify: an output differs
  2  wrong use: a flag, a path, an input that does not fit the model
  3  a file is damaged, or of a version that is not read
  4  the model holds something that this build cannot run, or memory is too small for it
  5  a bug in unfuse
  6  results could not be written: a full disk)";

constexpr const char* kSizeHelp =
    "Value of a symbolic size, as inspect names them. Default: the size that the model was "
    "exported with, or the smallest allowed.";

/// An option whose text `parse` makes a value of, so that all of them refuse the same things in the
/// same words.
template <typename T>
CLI::Option* add_parsed(CLI::App* command, const std::string& name, T& value,
                        std::function<T(const std::string&, const std::string&)> parse,
                        const std::string& help) {
  return command->add_option_function<std::string>(
      name, [&value, name, parse](const std::string& text) { value = parse(text, name); }, help);
}

CLI::Option* add_count(CLI::App* command, const std::string& name, int& value, int maximum,
                       const std::string& help) {
  const auto parse = [maximum](const std::string& text, const std::string& where) {
    return static_cast<int>(parse_whole(text, {1, maximum}, where));
  };
  return add_parsed<int>(command, name, value, parse, help)->option_text("N");
}

void add_tolerance(CLI::App* command, const std::string& name, std::optional<double>& value,
                   const std::string& help) {
  add_parsed<std::optional<double>>(command, name, value, parse_tolerance, help)->option_text("X");
}

FullyMaskedRows parse_rows(const std::string& text, const std::string& where) {
  if (text == "op") return FullyMaskedRows::kOp;
  if (text == "zero") return FullyMaskedRows::kZero;
  throw Error(ErrorKind::kInvalidArgument, "'" + text + "' is neither op nor zero", where);
}

PaddedRows parse_padded_rows(const std::string& text, const std::string& where) {
  if (text == "exported") return PaddedRows::kExported;
  if (text == "zero") return PaddedRows::kZero;
  throw Error(ErrorKind::kInvalidArgument, "'" + text + "' is neither exported nor zero", where);
}

Arithmetic parse_arithmetic(const std::string& text, const std::string& where) {
  if (text == "fastest") return Arithmetic::kFastest;
  if (text == "float32") return Arithmetic::kFloat32;
  if (text == "bfloat16") return Arithmetic::kBFloat16;
  throw Error(ErrorKind::kInvalidArgument,
              "'" + text + "' is neither fastest nor float32 nor bfloat16", where);
}

void add_model(CLI::App* command, ModelFile& model) {
  command->add_option("model.pt2", model.path, "A .pt2 file of torch 2.9 or newer.")
      ->required()
      ->option_text("");
  command->add_option("--model", model.name, "Which one, where the file holds several models.")
      ->option_text("NAME");
}

void add_fully_masked_rows(CLI::App* command, FullyMaskedRows& rows) {
  add_parsed<FullyMaskedRows>(
      command, "--fully-masked-rows", rows, parse_rows,
      "What attention gives where every key is masked: what the op in the model gives (op), or "
      "zero. Default: op.")
      ->option_text("op|zero");
}

void add_compile_options(CLI::App* command, CompileOptions& options) {
  add_count(command, "--threads", options.threads, 4096,
            "Threads to run on. Default: OMP_NUM_THREADS, or all cores.");
  add_fully_masked_rows(command, options.fully_masked_rows);
  add_parsed<PaddedRows>(
      command, "--padded-rows", options.padded_rows, parse_padded_rows,
      "What nn.TransformerEncoder gives at padded rows: what the exported graph computes "
      "(exported), or the zeros that eager's nested tensors give, which is faster. Default: "
      "exported.")
      ->option_text("exported|zero");
  add_parsed<Arithmetic>(command, "--arithmetic", options.arithmetic, parse_arithmetic,
                         "What 16-bit models multiply: float32, bfloat16 (those of bfloat16), or "
                         "what is faster on this machine. Default: fastest.")
      ->option_text("fastest|float32|bfloat16");
}

CLI::App* add_inspect(CLI::App& app, InspectOptions& options) {
  CLI::App* command = app.add_subcommand(
      "inspect", "Shows what a model takes, gives and holds, and what of it would run.");
  add_model(command, options.model);
  auto* graph = command
                    ->add_option("--graph", options.graph,
                                 "Print the graph: as the file has it, or opened, as the target "
                                 "gets it.")
                    ->expected(0, 1)
                    ->default_str("file")
                    ->check(CLI::IsMember({"file", "opened"}).description(""))
                    ->option_text("[file|opened]");
  command->add_flag("--json", options.json, "Print JSON.")->excludes(graph);
  command->add_option("--size", options.sizes, kSizeHelp)
      ->excludes(graph)
      ->option_text("NAME=SIZE ...");
  return command;
}

CLI::App* add_run(CLI::App& app, RunOptions& options) {
  CLI::App* command = app.add_subcommand("run", "Runs a model.");
  add_model(command, options.model);
  auto* inputs = command->add_option("--inputs", options.inputs, "File of inputs, by name.")
                     ->option_text("FILE");
  command->add_option("--outputs", options.outputs, "File to write the outputs to.")
      ->check([](const std::string& text) { return text.empty() ? "no file is named" : ""; })
      ->option_text("FILE");
  auto* random = command->add_flag("--random", options.random, "Make inputs up.")->excludes(inputs);
  add_parsed<std::uint64_t>(command, "--seed", options.seed, parse_seed,
                            "With --random: what to begin with. Default: 0.")
      ->needs(random)
      ->option_text("N");
  command->add_option("--size", options.sizes, std::string("With --random: ") + kSizeHelp)
      ->needs(random)
      ->option_text("NAME=SIZE ...");
  add_compile_options(command, options.compile);
  add_count(command, "--repeat", options.repeat, 1'000'000'000,
            "Run again N times, and tell the latency.");
  // A flag: what follows without a '=' is no value of it.
  command
      ->add_flag("--profile{op}", options.profile,
                 "Tell where the time of these runs goes, by op, or by node of the model: calls, "
                 "milliseconds a run, and the share of what the machine can do.")
      ->check(CLI::IsMember({"op", "node"}).description(""))
      ->option_text("[=op|node]");
  command
      ->add_option("--trace", options.trace,
                   "Write what happened when in these runs, for ui.perfetto.dev to show.")
      ->option_text("FILE");
  command->add_flag("--json", options.json, "Print JSON.");
  return command;
}

CLI::App* add_verify(CLI::App& app, VerifyOptions& options) {
  CLI::App* command =
      app.add_subcommand("verify", "Runs a model, and compares its outputs with expected ones.");
  add_model(command, options.model);
  command->add_option("--inputs", options.inputs, "File of inputs, by name.")
      ->required()
      ->option_text("FILE");
  command->add_option("--expect", options.expect, "File of expected outputs, by name.")
      ->required()
      ->option_text("FILE");
  add_tolerance(command, "--rtol", options.relative,
                "Relative tolerance. Default: 1e-4 for float32, 1e-2 for float16, 5e-2 for "
                "bfloat16, 1e-9 for float64, 0 for integers.");
  add_tolerance(command, "--atol", options.absolute,
                "Absolute tolerance. Default: 2e-5 for float32, 1e-2 for float16, 5e-2 for "
                "bfloat16, 1e-10 for float64, 0 for integers.");
  add_compile_options(command, options.compile);
  command->add_flag("--json", options.json, "Print JSON.");
  return command;
}

void add_output(CLI::App* command, std::string& output, const char* help) {
  command->add_option("-o,--output", output, help)
      ->required()
      ->check([](const std::string& text) { return text.empty() ? "no file is named" : ""; })
      ->option_text("FILE");
}

CLI::App* add_decompose(CLI::App& app, DecomposeOptions& options) {
  CLI::App* command = app.add_subcommand(
      "decompose",
      "Opens a model's fused ops, and writes it to a .pt2 file that other tools take.");
  add_model(command, options.model);
  add_output(command, options.output, "File to write; may be the model's own.");
  command
      ->add_option("--to", options.to,
                   "What attention becomes: one scaled_dot_product_attention (sdpa, default), or "
                   "products and a softmax, as everything goes down to core ATen (core).")
      ->check(CLI::IsMember({"sdpa", "core"}).description(""))
      ->option_text("sdpa|core");
  command
      ->add_option("--only", options.only,
                   "Ops to open, such as _native_multi_head_attention. Default: all fused ops.")
      ->option_text("OP ...");
  command->add_flag(
      "--sdpa-semantics", options.sdpa_semantics,
      "Attention means what scaled_dot_product_attention means, also where the op "
      "means something else: rows whose keys are all masked, float masks. Says where.");
  command->add_flag("--strict", options.strict,
                    "Write nothing, and fail, when anything is left of what should be opened.");
  command->add_flag("--json", options.json, "Print JSON.");
  return command;
}

int parse_opset(const std::string& text, const std::string& where) {
  if (text == "newest") return onnx::kNewestOpset;
  return static_cast<int>(parse_whole(text, {onnx::kOldestOpset, onnx::kNewestOpset}, where));
}

CLI::App* add_export(CLI::App& app, ExportOptions& options) {
  CLI::App* command =
      app.add_subcommand("export", "Writes a model, its fused ops opened, as an ONNX model.");
  add_model(command, options.model);
  add_output(command, options.output, "File to write; not the model's own.");
  add_parsed<int>(
      command, "--opset", options.onnx.opset, parse_opset,
      fmt::format("ONNX opset, {} to {} or newest. From 20 on gelu is an op, from 23 on "
                  "attention. Default: {}.",
                  onnx::kOldestOpset, onnx::kNewestOpset, onnx::kDefaultOpset))
      ->option_text("N");
  add_fully_masked_rows(command, options.onnx.fully_masked_rows);
  command->add_flag(
      "--strict", options.strict,
      "For symmetry with decompose: an export fails in any case when anything is left.");
  command->add_flag("--json", options.json, "Print JSON.");
  return command;
}

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument:
      return kWrongUse;
    case ErrorKind::kInvalidFile:
      return kBadFile;
    case ErrorKind::kUnsupported:
      return kUnsupported;
    case ErrorKind::kInternal:
      return kInternal;
  }
  return kInternal;
}

/// Where standard error cannot be written either, the exit code is left to tell.
int complain(const std::string& message, int code) {
  std::fputs(("unfuse: " + printable(message) + "\n").c_str(), stderr);
  return code;
}

/// --help and --version.
int print_what_was_asked(const CLI::App& app, const CLI::Success& asked) {
  std::ostringstream text;
  const int code = app.exit(asked, text, text);
  write_out(text.str());
  return code;
}

/// CLI11's own words are "1 required TEXT missing" and "At Most 1 required but received 2".
std::string describe(const CLI::ArgumentMismatch& error) {
  const std::string what = error.what();
  const bool missing = what.find("missing") != std::string::npos;
  return what.substr(0, what.find(':')) +
         (missing ? ": a value is missing" : ": was given more than once");
}

int dispatch(int argc, char** argv) {
  CLI::App app(kDescription, "unfuse");
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("unfuse ") + version(), "Print the version.");
  app.require_subcommand(1);
  InspectOptions inspect_options;
  RunOptions run_options;
  VerifyOptions verify_options;
  ExportOptions export_options;
  const CLI::App* inspect_command = add_inspect(app, inspect_options);
  const CLI::App* run_command = add_run(app, run_options);
  const CLI::App* verify_command = add_verify(app, verify_options);
  DecomposeOptions decompose_options;
  const CLI::App* decompose_command = add_decompose(app, decompose_options);
  const CLI::App* export_command = add_export(app, export_options);
  app.add_subcommand("ops", "Lists the ops that are known, and which of them run, in Markdown.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return print_what_was_asked(app, success);
  } catch (const CLI::ArgumentMismatch& error) {
    return complain(describe(error) + " (see unfuse --help)", kWrongUse);
  } catch (const CLI::ParseError& error) {
    if (argc == 1) {
      std::fputs(app.help().c_str(), stderr);
      return kWrongUse;
    }
    const std::string first = argv[1];
    const bool unknown = !first.starts_with('-') && app.get_subcommands().empty();
    const std::string what = unknown ? "there is no command '" + first + "'" : error.what();
    return complain(what + " (see unfuse --help)", kWrongUse);
  }
  if (inspect_command->parsed()) return inspect(inspect_options);
  if (run_command->parsed()) return run(run_options);
  if (verify_command->parsed()) return verify(verify_options);
  if (decompose_command->parsed()) return decompose(decompose_options);
  if (export_command->parsed()) return export_onnx(export_options);
  return list_ops();
}

}  // namespace
}  // namespace unfuse::cli

int main(int argc, char** argv) {
  using namespace unfuse;
  cli::prepare_output();
  try {
    const int code = cli::dispatch(argc, argv);
    cli::flush_out();
    return code;
  } catch (const tensor_io::WriteError& error) {
    return cli::complain(error.what(), cli::kNotWritten);
  } catch (const Error& error) {
    return cli::complain(error.what(), cli::exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return cli::complain("out of memory", cli::kUnsupported);
  } catch (const std::exception& error) {
    return cli::complain(fmt::format("internal error: {}; please report it", error.what()),
                         cli::kInternal);
  }
}
