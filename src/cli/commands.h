// The subcommands of `unfuse`. Each returns an exit code, or throws Error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/onnx_export.h"
#include "unfuse/program.h"

namespace unfuse::cli {

/// What the command tells its caller; documented in --help.
enum ExitCode {
  kDone = 0,
  kMismatch = 1,     ///< verify: an output differs
  kWrongUse = 2,     ///< a flag, a path, an input that does not fit
  kBadFile = 3,      ///< a file is damaged, or of a version that is not read
  kUnsupported = 4,  ///< the model holds something that this build cannot run, or is too large
  kInternal = 5,     ///< a bug in unfuse
  kNotWritten = 6,   ///< results could not be written: a full disk
};

struct ModelFile {
  std::string path;
  std::string name;  ///< of the model in it; may be empty where it holds one only
};

struct InspectOptions {
  ModelFile model;
  /// Print the graph instead: "file" as it stands in the file, "opened" as it reaches the target.
  std::string graph;
  bool json = false;
  std::vector<std::string> sizes;  ///< "s0=128": what symbolic sizes are taken to be
};

struct RunOptions {
  ModelFile model;
  std::string inputs;   ///< a file; empty with `random`
  std::string outputs;  ///< a file; may be empty
  bool random = false;
  std::uint64_t seed = 0;
  std::vector<std::string> sizes;
  CompileOptions compile;
  int repeat = 0;  ///< timed runs after the first
  /// Print where the time of the timed runs went, by "op" or "node"; empty for not.
  std::string profile;
  std::string trace;  ///< a file for a trace of the timed runs; may be empty
  bool json = false;
};

struct VerifyOptions {
  ModelFile model;
  std::string inputs;
  std::string expect;
  std::optional<double> relative;  ///< else by dtype
  std::optional<double> absolute;
  CompileOptions compile;
  bool json = false;
};

struct DecomposeOptions {
  ModelFile model;
  std::string output;
  std::string to = "sdpa";        ///< or "core"
  std::vector<std::string> only;  ///< ops to open; empty for all
  bool sdpa_semantics = false;
  bool strict = false;
  bool json = false;
};

struct ExportOptions {
  ModelFile model;
  std::string output;
  OnnxOptions onnx;
  bool strict = false;  ///< for symmetry with other commands: an export always is
  bool json = false;
};

int inspect(const InspectOptions& options);
int run(const RunOptions& options);
int verify(const VerifyOptions& options);
int decompose(const DecomposeOptions& options);
/// Writes an ONNX model.
int export_onnx(const ExportOptions& options);
/// Prints docs/ops.md.
int list_ops();

}  // namespace unfuse::cli
