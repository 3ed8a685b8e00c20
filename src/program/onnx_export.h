// A .pt2 file in, an ONNX file out: for the command and the Python binding.
#pragma once

#include <cstdint>
#include <string>

#include "ir/graph.h"
#include "onnx/model.h"
#include "onnx/write.h"
#include "unfuse/program.h"
#include "unfuse/report.h"

namespace unfuse {

struct OnnxOptions {
  int opset = onnx::kDefaultOpset;
  FullyMaskedRows fully_masked_rows = FullyMaskedRows::kOp;
  /// A longer model has its weights in a file of their own.
  std::uint64_t largest_message = onnx::kLargestMessage;
};

struct OnnxExport {
  std::int64_t nodes = 0;
  std::int64_t weight_bytes = 0;
  /// What was opened, and what there is to know.
  Report report;
};

/// Opens the model at `path` (one of several: `model`; empty takes the only one) and writes it to
/// `output`, another file. Throws Error (kInvalidArgument) when it is the same, and what
/// pt2::read(), onnx::convert() and onnx::write_model() throw; nothing is written then.
OnnxExport export_onnx(const std::string& path, const std::string& model, const std::string& output,
                       const OnnxOptions& options);

/// The same for a graph as it was imported, which is opened in place. `report` is added to, and
/// `where` names the graph in messages.
OnnxExport export_onnx(Graph& graph, Report report, const std::string& output,
                       const OnnxOptions& options, const std::string& where);

}  // namespace unfuse
