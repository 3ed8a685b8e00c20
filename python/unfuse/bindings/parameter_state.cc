#include "parameter_state.h"

#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings.h"
#include "unfuse/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace unfuse::python {
namespace {

/// `_version`, interned once: attributes are then found by address.
PyObject* version_name() {
  static PyObject* const name = PyUnicode_InternFromString("_version");
  return name;
}

/// -1, with a Python error set, for a tensor that has no version.
std::int64_t version_of(PyObject* tensor) {
  PyObject* version = PyObject_GetAttr(tensor, version_name());
  if (version == nullptr) return -1;
  const std::int64_t number = PyLong_AsLongLong(version);
  Py_DECREF(version);
  return number;
}

const void* data_of(const nb::dlpack::dltensor& described) {
  return static_cast<const std::byte*>(described.data) + described.byte_offset;
}

}  // namespace

const DlpackExchangeApi& exchange_api_of(nb::handle object) {
  constexpr const char* kAttribute = "__dlpack_c_exchange_api__";
  constexpr std::uint32_t kMajor = 1;
  const nb::object capsule = nb::getattr(object.type(), kAttribute, nb::none());
  const auto* api = capsule.is_none() ? nullptr
                                      : static_cast<const DlpackExchangeApi*>(PyCapsule_GetPointer(
                                            capsule.ptr(), "dlpack_exchange_api"));
  while (api != nullptr && api->version.major > kMajor) api = api->previous;
  if (api == nullptr) PyErr_Clear();
  if (api != nullptr && api->version.major == kMajor && api->tensor_from_object != nullptr) {
    return *api;
  }
  throw Error(ErrorKind::kUnsupported, "this PyTorch does not offer DLPack's exchange API 1", "",
              "PyTorch 2.13 does");
}

ParameterState::ParameterState(const nb::list& slots, const std::vector<std::size_t>& indices) {
  for (const std::size_t index : indices) {
    const nb::handle tensor = slots[index];
    if (api_ == nullptr) api_ = &exchange_api_of(tensor);
    nb::dlpack::dltensor described;
    if (api_->tensor_from_object(tensor.ptr(), &described) != 0) throw nb::python_error();
    const bool versioned = !nb::cast<bool>(tensor.attr("is_inference")());
    const std::int64_t version = versioned ? version_of(tensor.ptr()) : -1;
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    entries_.push_back({index, tensor.ptr(), data_of(described), version, described.ndim});
    strides_.insert(strides_.end(), described.strides, described.strides + described.ndim);
  }
}

bool ParameterState::matches(const nb::list& slots) const {
  const std::int64_t* strides = strides_.data();
  for (const Entry& entry : entries_) {
    if (PyList_GET_ITEM(slots.ptr(), static_cast<Py_ssize_t>(entry.index)) != entry.tensor) {
      return false;
    }
    if (!is_same(entry, strides)) return false;
    strides += entry.rank;
  }
  return true;
}

/// A tensor that cannot be read any more has changed: looking at it anew will tell how.
bool ParameterState::is_same(const Entry& entry, const std::int64_t* strides) const {
  nb::dlpack::dltensor described;
  if (api_->tensor_from_object(entry.tensor, &described) != 0) {
    PyErr_Clear();
    return false;
  }
  if (data_of(described) != entry.data || described.ndim != entry.rank) return false;
  if (!std::equal(strides, strides + entry.rank, described.strides)) return false;
  if (entry.version < 0) return true;
  const std::int64_t version = version_of(entry.tensor);
  if (version < 0) PyErr_Clear();
  return version == entry.version;
}

void register_parameter_state(nb::module_& module) {
  nb::class_<ParameterState>(module, "ParameterState", "What tells that parameters changed.")
      .def(nb::init<const nb::list&, std::vector<std::size_t>>(), "slots"_a, "indices"_a)
      .def("matches", &ParameterState::matches, "slots"_a);
}

}  // namespace unfuse::python
