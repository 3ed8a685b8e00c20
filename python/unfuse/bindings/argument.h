// Arguments of nodes, from Python objects and back.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>

#include "ir/argument.h"
#include "ir/graph.h"

namespace unfuse::python {

/// A value of a graph under construction. Only that graph's own functions look inside.
struct ValueHandle {
  Value* value = nullptr;
};

/// A dtype as Python sees it (a plain enum would be bound as one of its own kind).
struct BoxedDType {
  DType dtype = DType::kFloat32;
};

/// None, a ValueHandle, bool, int, Dim, float, str, BoxedDType, Device, MemoryFormat, Layout, or a
/// list or tuple of one of these. Throws Error (kInvalidArgument) for anything else.
Argument to_argument(nanobind::handle object);

/// The inverse; `of_value` makes the object that stands for a value.
nanobind::object to_python(const Argument& argument,
                           const std::function<nanobind::object(const Value*)>& of_value);

/// The type inside a bound `Type`.
const Type& unboxed_type(nanobind::handle object);

}  // namespace unfuse::python
