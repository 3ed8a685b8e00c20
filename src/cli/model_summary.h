// What there is to say about a model without running it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "pt2/exported_program.h"
#include "unfuse/report.h"

namespace unfuse::cli {

/// An input or output; the sizes of a tensor, or what else a caller passes or gets.
struct Parameter {
  std::string name;
  std::string type;  ///< "float32[2, s0, 512]", "int s0", "None", "3"
};

/// A fused op, and where the model has it.
struct FusedOp {
  std::string op;
  std::string module_path;
  std::string source;
};

struct ModelSummary {
  std::string torch_version;
  std::vector<Parameter> inputs;
  std::vector<Parameter> outputs;
  /// Writes to buffers and inputs: "buffer 'running'".
  std::vector<std::string> mutations;
  std::map<std::string, std::int64_t> ops;  ///< name -> nodes, as the file has them
  std::vector<FusedOp> fused;
  Report report;

  SymbolRanges symbols;
  SymbolValues sizes;  ///< what flops, input_bytes, output_bytes and arena_bytes hold for
  std::string flops_formula;
  std::int64_t flops = 0;

  std::int64_t weight_bytes = 0;  ///< each storage once
  std::int64_t input_bytes = 0;
  std::int64_t output_bytes = 0;
  /// Working memory of a run; empty when the model cannot run here.
  std::optional<std::int64_t> arena_bytes;
};

/// Reads a model, opens it and asks the CPU target. `settings` as in choose_sizes().
ModelSummary summarize(const ModelFile& model, const std::vector<std::string>& settings);

}  // namespace unfuse::cli
