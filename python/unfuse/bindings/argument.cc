#include "argument.h"

#include <nanobind/stl/string.h>

#include "unfuse/error.h"

namespace nb = nanobind;

namespace unfuse::python {
namespace {

bool is_bool(nb::handle object) { return PyBool_Check(object.ptr()); }
bool is_int(nb::handle object) { return PyLong_Check(object.ptr()) && !is_bool(object); }
bool is_float(nb::handle object) { return PyFloat_Check(object.ptr()); }
bool is_dim(nb::handle object) { return is_int(object) || nb::isinstance<Dim>(object); }
bool is_value(nb::handle object) { return nb::isinstance<ValueHandle>(object); }

template <typename Predicate>
bool all(const nb::sequence& list, Predicate predicate) {
  for (nb::handle element : list) {
    if (!predicate(element)) return false;
  }
  return true;
}

template <typename List, typename Convert>
Argument convert_all(const nb::sequence& list, Convert convert) {
  List result;
  for (nb::handle element : list) result.push_back(convert(element));
  return result;
}

Dim to_dim(nb::handle object) {
  if (nb::isinstance<Dim>(object)) return nb::cast<Dim>(object);
  return Dim(nb::cast<std::int64_t>(object));
}

Value* to_value(nb::handle object) {
  return object.is_none() ? nullptr : nb::cast<ValueHandle>(object).value;
}

Argument list_argument(const nb::sequence& list) {
  if (nb::len(list) == 0) return Argument::Ints{};
  if (all(list, [](nb::handle e) { return e.is_none() || is_value(e); })) {
    return convert_all<Argument::Tensors>(list, to_value);
  }
  if (all(list, is_bool)) {
    return convert_all<Argument::Bools>(list, [](nb::handle e) { return nb::cast<bool>(e); });
  }
  if (all(list, is_dim)) return convert_all<Argument::Ints>(list, to_dim);
  if (all(list, [](nb::handle e) { return is_float(e) || is_int(e); })) {
    return convert_all<Argument::Floats>(list, [](nb::handle e) { return nb::cast<double>(e); });
  }
  if (all(list, [](nb::handle e) { return PyUnicode_Check(e.ptr()) != 0; })) {
    return convert_all<Argument::Strings>(list,
                                          [](nb::handle e) { return nb::cast<std::string>(e); });
  }
  throw Error(ErrorKind::kInvalidArgument,
              std::string("an argument list that no schema can hold: ") + nb::repr(list).c_str());
}

template <typename List, typename Convert>
nb::object list_to_python(const List& list, Convert convert) {
  nb::list result;
  for (const auto& element : list) result.append(convert(element));
  return result;
}

nb::object dim_to_python(const Dim& dim) {
  if (const auto constant = dim.constant()) return nb::int_(*constant);
  return nb::cast(dim);
}

}  // namespace

Argument to_argument(nb::handle object) {
  if (object.is_none()) return {};
  if (is_value(object)) return to_value(object);
  if (is_bool(object)) return nb::cast<bool>(object);
  if (is_dim(object)) return to_dim(object);
  if (is_float(object)) return nb::cast<double>(object);
  if (PyUnicode_Check(object.ptr())) return nb::cast<std::string>(object);
  if (nb::isinstance<BoxedDType>(object)) return nb::cast<BoxedDType>(object).dtype;
  if (nb::isinstance<Device>(object)) return nb::cast<Device>(object);
  if (nb::isinstance<MemoryFormat>(object)) return nb::cast<MemoryFormat>(object);
  if (nb::isinstance<Layout>(object)) return nb::cast<Layout>(object);
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) {
    return list_argument(nb::borrow<nb::sequence>(object));
  }
  throw Error(ErrorKind::kInvalidArgument,
              std::string("an argument that no schema can hold: ") + nb::repr(object).c_str());
}

nb::object to_python(const Argument& argument,
                     const std::function<nb::object(const Value*)>& of_value) {
  struct Visitor {
    const std::function<nb::object(const Value*)>& of_value;
    nb::object operator()(std::monostate) const { return nb::none(); }
    nb::object operator()(Value* value) const { return of_value(value); }
    nb::object operator()(const Argument::Tensors& list) const {
      return list_to_python(list, [this](const Value* value) {
        return value == nullptr ? nb::object(nb::none()) : of_value(value);
      });
    }
    nb::object operator()(const Dim& dim) const { return dim_to_python(dim); }
    nb::object operator()(const Argument::Ints& list) const {
      return list_to_python(list, dim_to_python);
    }
    nb::object operator()(double number) const { return nb::float_(number); }
    nb::object operator()(const Argument::Floats& list) const {
      return list_to_python(list, [](double number) { return nb::float_(number); });
    }
    nb::object operator()(bool flag) const { return nb::bool_(flag); }
    nb::object operator()(const Argument::Bools& list) const {
      return list_to_python(list, [](bool flag) { return nb::bool_(flag); });
    }
    nb::object operator()(const std::string& text) const { return nb::cast(text); }
    nb::object operator()(const Argument::Strings& list) const {
      return list_to_python(list, [](const std::string& text) { return nb::cast(text); });
    }
    nb::object operator()(DType dtype) const { return nb::cast(BoxedDType{dtype}); }
    nb::object operator()(const Device& device) const { return nb::cast(device); }
    nb::object operator()(MemoryFormat format) const { return nb::cast(format); }
    nb::object operator()(Layout layout) const { return nb::cast(layout); }
  };
  return std::visit(Visitor{of_value}, argument.held());
}

}  // namespace unfuse::python
