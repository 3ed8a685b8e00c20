// Writing torch.export archives (.pt2).
#pragma once

#include <string>

#include "pt2/exported_program.h"

namespace unfuse::pt2 {

struct WriteOptions {
  /// Regions in which torch runs in a mode that changes nothing here (no_grad) become the nodes in
  /// them.
  bool dissolve_regions = false;
  /// The program is functional, of ATen ops: what torch's verifier of that dialect looks at.
  bool functional = false;
};

/// Writes a program that read() gave, with what passes made of its graph. Nodes that passes left
/// alone, and everything that the graph does not model, are written as the file had them; all other
/// members of the archive are copied, the elements of weights without being looked at. Constants
/// that passes made are added. The new file replaces an old one at once, when it is complete.
/// Throws tensor_io::WriteError when it cannot be written; Error (kUnsupported) when the graph
/// holds what a file cannot; kInternal when it holds an op that is none of torch's.
void write(const ExportedProgram& program, const std::string& path,
           const WriteOptions& options = {});

}  // namespace unfuse::pt2
