// What became of a model: what was opened, and what nobody could take.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace unfuse {

/// One kind of op that the target does not take at one place in the model.
struct LeftOp {
  std::string op;           ///< "aten.fft_rfft.default"
  std::int64_t count = 0;   ///< how many such nodes, of all with this reason
  std::string reason;       ///< why the target does not take it
  std::string module_path;  ///< of the first such node; empty when unknown
  std::string source;       ///< "file.py:12", the user's line of the first such node; may be empty
};

struct Report {
  std::int64_t graphs = 0;
  std::int64_t graph_breaks = 0;
  /// Pieces that run on the target.
  std::int64_t partitions = 0;
  /// Fused op name -> how many nodes of it were opened.
  std::map<std::string, std::int64_t> opened;
  std::vector<LeftOp> left_to_torch;
  /// Things worth knowing, a sentence each: a float mask that the op reads as bool, for one.
  std::vector<std::string> notes;
};

}  // namespace unfuse
