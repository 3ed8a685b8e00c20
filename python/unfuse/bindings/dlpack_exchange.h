// The part of DLPack 1.3's C exchange API that is used here: reading a tensor's memory, sizes and
// strides from its Python object without calling into Python. The layout is fixed by the standard
// (github.com/dmlc/dlpack, include/dlpack/dlpack.h).
#pragma once

#include <nanobind/ndarray.h>

#include <cstdint>

namespace unfuse::python {

struct DlpackExchangeApi {
  struct {
    std::uint32_t major, minor;
  } version;
  const DlpackExchangeApi* previous;  ///< an older version, or null
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  /// Describes a tensor's memory; the description holds as long as the object. Returns 0, or -1
  /// with a Python error set. May be null.
  int (*tensor_from_object)(void* object, nanobind::dlpack::dltensor* described);
  void* current_stream;
};

/// Of the object's type. Throws Error (kUnsupported) when it has none that can be used.
const DlpackExchangeApi& exchange_api_of(nanobind::handle object);

}  // namespace unfuse::python
