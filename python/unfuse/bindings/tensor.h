// Tensors between Python and the library, without either knowing the other's types.
#pragma once

#include <nanobind/nanobind.h>

#include "unfuse/tensor.h"

namespace unfuse::python {

/// (address, dtype name, sizes, strides in elements, owner): a view of memory that `owner`, any
/// object or None, keeps alive.
Tensor to_tensor(nanobind::handle description);

/// A DLPack capsule that shares the tensor's memory.
nanobind::object to_dlpack(const Tensor& tensor);

/// A NumPy array that shares the tensor's memory. NumPy has no bfloat16: such a tensor comes as
/// uint16, bit by bit.
nanobind::object to_numpy(const Tensor& tensor);

}  // namespace unfuse::python
