// Which tensor of a file is which input or output of a model.
#pragma once

#include <string>
#include <vector>

#include "tensor_io/tensor_file.h"
#include "unfuse/program.h"

namespace unfuse::cli {

/// A file's tensors in the order of `wanted`: by name, or by number when the file's names are
/// arr_0, arr_1 and so on, as np.savez calls what it was given no name for. `what` is "input" or
/// "output". Throws Error (kInvalidArgument) naming what is missing, or what nobody wants.
std::vector<Tensor> match_tensors(const std::vector<TensorInfo>& wanted,
                                  const tensor_io::NamedTensors& given, const std::string& file,
                                  const std::string& what);

}  // namespace unfuse::cli
