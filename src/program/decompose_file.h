// A model's fused ops opened, from file to file.
#pragma once

#include <string>

#include "passes/decompose/open_fused.h"
#include "unfuse/report.h"

namespace unfuse {

struct DecomposeFileOptions {
  passes::OpenRequest request;
  /// Throws when anything is left that should have been opened.
  bool strict = false;
};

/// Reads a .pt2 archive, opens what it is asked to, and writes the whole to another, which may be
/// the same one. Weights are neither read nor held: their bytes are copied. Report::left_to_torch
/// lists what is left. `model` is as in pt2::read(). Throws Error: what pt2::read(),
/// passes::ops_to_open() and pt2::write() throw, and kUnsupported with `strict`; nothing is written
/// then.
Report decompose_file(const std::string& path, const std::string& model, const std::string& output,
                      const DecomposeFileOptions& options);

}  // namespace unfuse
