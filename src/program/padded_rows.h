// nn.TransformerEncoder with nested tensors: the one place where capture differs from eager.
#pragma once

#include <string>
#include <vector>

#include "pt2/exported_program.h"

namespace unfuse {

/// What a graph gives at padded rows, where eager's nested tensors give zeros.
enum class PaddedRows {
  kCompiled,  ///< torch.compile: it computes them
  kZero,      ///< torch.compile with the option padded_rows="zero"
  kExported,  ///< torch.export: it computes them
};

/// What to tell about the encoder at this path of the model.
std::string padded_rows_note(const std::string& encoder, PaddedRows rows);

/// For each encoder of an exported program that gets a padding mask and no other, and that eager
/// runs with nested tensors as far as the graph, before any pass, shows.
std::vector<std::string> padded_rows_notes(const pt2::ExportedProgram& program);

}  // namespace unfuse
