// nn.TransformerEncoder with nested tensors: the one place where capture differs from eager.
#pragma once

#include <string>
#include <vector>

#include "pt2/exported_program.h"

namespace unfuse {

/// What a graph gives at padded rows, where eager's nested tensors give zeros.
enum class PaddedRowsOf {
  kCompiled,  ///< torch.compile: it computes them
  kExported,  ///< torch.export: it computes them
  kZeroed,    ///< zeros, as the option padded_rows="zero" has it
};

/// What to tell about the encoder at this path of the model.
std::string padded_rows_note(const std::string& encoder, PaddedRowsOf graph);

/// For each encoder of an exported program that gets a padding mask and no other, and that eager
/// runs with nested tensors as far as the graph, before any pass, shows.
std::vector<std::string> padded_rows_notes(const pt2::ExportedProgram& program);

/// Writes eager's zeros: the last layer of each such encoder is zero where its mask drops rows, if
/// every sequence has its padding at the end. Gives the notes. Throws Error (kUnsupported) for an
/// encoder that is called more than once and spelled out, since its calls cannot be told apart.
std::vector<std::string> zero_padded_rows(pt2::ExportedProgram& program);

}  // namespace unfuse
