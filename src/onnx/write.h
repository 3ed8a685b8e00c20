// Writes a model to its file, and to a second one beside it where weights do not fit.
#pragma once

#include <cstdint>
#include <string>

#include "onnx/model.h"

namespace unfuse::onnx {

/// Protobuf reads no message that is longer.
inline constexpr std::uint64_t kLargestMessage = (std::uint64_t{1} << 31) - 1;

/// Replaces the file at `path` once all of it is written. A model whose file would be longer than
/// `largest_message` has its weights in PATH.data, which is replaced first. Weights are read while
/// they are written, and not held in memory. Throws tensor_io::WriteError, and leaves the old
/// files, when something cannot be written; Error (kUnsupported) when the graph alone is too long,
/// (kInvalidArgument) when weights need a file of their own beside what is no file, a pipe say.
void write_model(const Model& model, const std::string& path,
                 std::uint64_t largest_message = kLargestMessage);

}  // namespace unfuse::onnx
