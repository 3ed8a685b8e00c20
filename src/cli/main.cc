// The `unfuse` command: reads the command line, calls a subcommand, turns errors into one line and
// an exit code.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>

#include "cli/commands.h"
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
  unfuse run model.pt2 --random --size s0=8 --repeat 20
  unfuse verify model.pt2 --inputs in.npz --expect out.npz

Exit codes:
  0  done; for verify: every output matches
  1  verify: an output differs
  2  wrong use: a flag, a path, an input that does not fit the model
  3  a file is damaged, or of a version that is not read
  4  the model holds something that this build cannot run
  5  a bug in unfuse)";

constexpr const char* kSizeHelp =
    "Value of a symbolic size, as inspect names them. Default: the size that the model was "
    "exported "
    "with, or the smallest allowed.";

CLI::Option* add_model(CLI::App* command, std::string& model) {
  return command->add_option("model", model, "A .pt2 file of torch 2.9 or newer.")->required();
}

void add_compile_options(CLI::App* command, CompileOptions& options) {
  static const std::map<std::string, FullyMaskedRows> kRows = {{"op", FullyMaskedRows::kOp},
                                                               {"zero", FullyMaskedRows::kZero}};
  command
      ->add_option("--threads", options.threads,
                   "Threads to run on. Default: OMP_NUM_THREADS, or all cores.")
      ->check(CLI::Range(1, 4096).description(""))
      ->option_text("N");
  command
      ->add_option("--fully-masked-rows", options.fully_masked_rows,
                   "What attention gives where every key is masked: what the op in the model gives "
                   "(op), or zero. Default: op.")
      ->transform(CLI::CheckedTransformer(kRows).description(""))
      ->option_text("op|zero");
}

CLI::App* add_inspect(CLI::App& app, InspectOptions& options) {
  CLI::App* command = app.add_subcommand(
      "inspect", "Shows what a model takes, gives and holds, and what of it would run.");
  add_model(command, options.model);
  command
      ->add_option("--graph", options.graph,
                   "Print the graph: as the file has it, or opened, as the target gets it.")
      ->expected(0, 1)
      ->default_str("file")
      ->check(CLI::IsMember({"file", "opened"}).description(""))
      ->option_text("[file|opened]");
  command->add_flag("--json", options.json, "Print JSON.");
  command->add_option("--size", options.sizes, kSizeHelp)->option_text("NAME=SIZE ...");
  return command;
}

CLI::App* add_run(CLI::App& app, RunOptions& options) {
  CLI::App* command = app.add_subcommand("run", "Runs a model.");
  add_model(command, options.model);
  auto* inputs = command->add_option("--inputs", options.inputs, "File of inputs, by name.")
                     ->option_text("FILE");
  command->add_option("--outputs", options.outputs, "File to write the outputs to.")
      ->option_text("FILE");
  command->add_flag("--random", options.random, "Make inputs up.")->excludes(inputs);
  command->add_option("--seed", options.seed, "Of the random inputs. Default: 0.")
      ->option_text("N");
  command->add_option("--size", options.sizes, std::string("With --random: ") + kSizeHelp)
      ->option_text("NAME=SIZE ...");
  add_compile_options(command, options.compile);
  command->add_option("--repeat", options.repeat, "Run again N times, and tell the latency.")
      ->check(CLI::Range(1, 1'000'000'000).description(""))
      ->option_text("N");
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
  command
      ->add_option("--rtol", options.relative,
                   "Relative tolerance. Default: 1e-4 for float32, 1e-2 for float16, 5e-2 for "
                   "bfloat16, 1e-9 for float64, 0 for integers.")
      ->check(CLI::NonNegativeNumber.description(""))
      ->option_text("X");
  command
      ->add_option("--atol", options.absolute,
                   "Absolute tolerance. Default: 2e-5 for float32, 1e-2 for float16, 5e-2 for "
                   "bfloat16, 1e-10 for float64, 0 for integers.")
      ->check(CLI::NonNegativeNumber.description(""))
      ->option_text("X");
  add_compile_options(command, options.compile);
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

int complain(const std::string& message, int code) {
  fmt::print(stderr, "unfuse: {}\n", message);
  return code;
}

int dispatch(int argc, char** argv) {
  CLI::App app(kDescription, "unfuse");
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("unfuse ") + version(), "Print the version.");
  app.require_subcommand(1);
  InspectOptions inspect_options;
  RunOptions run_options;
  VerifyOptions verify_options;
  const CLI::App* inspect_command = add_inspect(app, inspect_options);
  const CLI::App* run_command = add_run(app, run_options);
  const CLI::App* verify_command = add_verify(app, verify_options);
  app.add_subcommand("ops", "Lists the ops that are known, and which of them run, in Markdown.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    if (argc == 1) {
      fmt::print(stderr, "{}", app.help());
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
  return list_ops();
}

}  // namespace
}  // namespace unfuse::cli

int main(int argc, char** argv) {
  using namespace unfuse;
  try {
    return cli::dispatch(argc, argv);
  } catch (const Error& error) {
    return cli::complain(error.what(), cli::exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return cli::complain("out of memory", cli::kInternal);
  } catch (const std::exception& error) {
    return cli::complain(fmt::format("internal error: {}; please report it", error.what()),
                         cli::kInternal);
  }
}
