// unfuse::Error becomes the Python class unfuse.errors.Error, with the same parts.
#include "unfuse/error.h"

#include <nanobind/nanobind.h>

#include "bindings.h"

namespace nb = nanobind;

namespace unfuse::python {
namespace {

const char* kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument:
      return "invalid_argument";
    case ErrorKind::kInvalidFile:
      return "invalid_file";
    case ErrorKind::kUnsupported:
      return "unsupported";
    case ErrorKind::kInternal:
      return "internal";
  }
  return "internal";
}

/// Messages may quote a file's bytes.
nb::object text(const std::string& bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()),
                                        "backslashreplace"));
}

void translate(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    nb::object type = nb::module_::import_("unfuse.errors").attr("Error");
    nb::object value = type(text(error.message()), kind_name(error.kind()), text(error.where()),
                            text(error.hint()));
    PyErr_SetObject(type.ptr(), value.ptr());
  }
}

}  // namespace

void register_error(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace unfuse::python
