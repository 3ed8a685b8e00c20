// NumPy's .npz: a zip archive of .npy arrays.
#pragma once

#include <string>

#include "tensor_io/tensor_file.h"

namespace unfuse::tensor_io {

/// What np.savez and np.savez_compressed write. Pickled arrays are refused.
NamedTensors read_npz(const std::string& path);

/// Uncompressed, as np.savez does.
void write_npz(const std::string& path, const NamedTensors& tensors);

}  // namespace unfuse::tensor_io
