// Whether a set of parameters is as it was: asked at every call, so it costs little.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "dlpack_exchange.h"

namespace unfuse::python {

/// What tells that a torch tensor has changed: it is another object, has other memory or strides,
/// or its `_version` has risen. Tensors made under inference mode have no version. Keeps no tensor
/// alive: whoever holds this forgets it when one dies, since another may then take its place.
class ParameterState {
 public:
  /// The tensors are slots[i] for every i of `indices`.
  ParameterState(const nanobind::list& slots, const std::vector<std::size_t>& indices);

  /// Whether the tensors there now are the same ones, unchanged.
  bool matches(const nanobind::list& slots) const;

 private:
  struct Entry {
    std::size_t index = 0;
    PyObject* tensor = nullptr;
    const void* data = nullptr;
    std::int64_t version = -1;  ///< -1 when it has none
    std::int32_t rank = 0;
  };

  bool is_same(const Entry& entry, const std::int64_t* strides) const;

  const DlpackExchangeApi* api_ = nullptr;
  std::vector<Entry> entries_;
  std::vector<std::int64_t> strides_;  ///< of all, one after another
};

}  // namespace unfuse::python
