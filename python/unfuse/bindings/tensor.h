// Tensors between Python and the library, without either knowing the other's types.
#pragma once

#include <nanobind/nanobind.h>

#include "unfuse/tensor.h"

namespace unfuse::python {

/// (address, dtype name, sizes, strides in elements, owner): a view of memory that `owner`, any
/// object or None, keeps alive.
Tensor to_tensor(nanobind::handle description);

/// An object with __dlpack__ that shares the tensor's memory. 16-bit brain floats keep their
/// dtype when `brain_as_integer` is false, else they are uint16 (NumPy has no such dtype).
nanobind::object to_dlpack(const Tensor& tensor, bool brain_as_integer);

}  // namespace unfuse::python
