// Dims, dtypes and value types.
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "argument.h"
#include "bindings.h"
#include "ir/dim.h"
#include "ir/type.h"
#include "unfuse/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace unfuse::python {
namespace {

DType dtype_of(const std::string& name) {
  const std::optional<DType> dtype = dtype_from_name(name);
  if (!dtype) throw Error(ErrorKind::kInvalidArgument, "there is no dtype " + name);
  return *dtype;
}

const char* function_name(Atom::Kind kind) {
  switch (kind) {
    case Atom::Kind::kFloorDiv:
      return "floordiv";
    case Atom::Kind::kMod:
      return "mod";
    case Atom::Kind::kMin:
      return "min";
    case Atom::Kind::kMax:
      return "max";
    case Atom::Kind::kSymbol:
      break;
  }
  return "";
}

nb::list dim_terms(const Dim& dim) {
  nb::list terms;
  for (const Dim::Term& term : dim.terms()) {
    nb::list factors;
    for (const auto& factor : term.factors) {
      const bool symbol = factor->kind == Atom::Kind::kSymbol;
      factors.append(nb::make_tuple(symbol ? factor->text : function_name(factor->kind),
                                    nb::cast(factor->operands)));
    }
    terms.append(nb::make_tuple(term.coefficient, factors));
  }
  return terms;
}

void register_dim(nb::module_& module) {
  nb::class_<Dim>(module, "Dim", "A size that may be symbolic.")
      .def(nb::init<std::int64_t>(), "value"_a)
      .def_static("symbol", &Dim::symbol, "name"_a)
      .def_static("floordiv", &Dim::floordiv, "numerator"_a, "denominator"_a)
      .def_static("mod", &Dim::mod, "numerator"_a, "denominator"_a)
      .def_static("min", &Dim::min, "left"_a, "right"_a)
      .def_static("max", &Dim::max, "left"_a, "right"_a)
      .def(nb::self + nb::self)
      .def(nb::self - nb::self)
      .def(nb::self * nb::self)
      .def(nb::self == nb::self)
      .def("__hash__", [](const Dim& dim) { return nb::hash(nb::str(dim.to_string().c_str())); })
      .def_prop_ro("constant", &Dim::constant)
      .def_prop_ro("constant_term", &Dim::constant_term)
      .def_prop_ro("terms", &dim_terms,
                   "A list of (coefficient, factors), a factor a (name, operands) pair.")
      .def("evaluate", &Dim::evaluate, "values"_a)
      .def("symbols",
           [](const Dim& dim) {
             std::vector<std::string> names;
             dim.collect_symbols(names);
             return names;
           })
      .def("__repr__", &Dim::to_string);
  nb::implicitly_convertible<std::int64_t, Dim>();
}

void register_argument_types(nb::module_& module) {
  const auto name_of = [](const BoxedDType& boxed) { return std::string(dtype_name(boxed.dtype)); };
  nb::class_<BoxedDType>(module, "DType", "An element type, by PyTorch's name.")
      .def("__init__",
           [](BoxedDType* self, const std::string& name) { new (self) BoxedDType{dtype_of(name)}; })
      .def_prop_ro("name", name_of)
      .def("__repr__", name_of);
  nb::class_<Device>(module, "Device")
      .def("__init__", [](Device* self, const std::string& text) { new (self) Device{text}; })
      .def_ro("text", &Device::text);
  nb::enum_<MemoryFormat>(module, "MemoryFormat")
      .value("contiguous_format", MemoryFormat::kContiguous)
      .value("preserve_format", MemoryFormat::kPreserve)
      .value("channels_last", MemoryFormat::kChannelsLast)
      .value("channels_last_3d", MemoryFormat::kChannelsLast3d);
  nb::enum_<Layout>(module, "Layout")
      .value("strided", Layout::kStrided)
      .value("sparse_coo", Layout::kSparseCoo)
      .value("other", Layout::kOther);
}

/// nanobind would turn a bound variant into its alternative; this keeps it whole.
struct BoxedType {
  Type type;
};

}  // namespace

const Type& unboxed_type(nb::handle object) { return nb::cast<const BoxedType&>(object).type; }

void register_types(nb::module_& module) {
  register_dim(module);
  register_argument_types(module);
  nb::class_<BoxedType>(module, "Type", "What a value is.")
      .def_static(
          "tensor",
          [](const std::string& dtype, std::vector<Dim> sizes, std::vector<Dim> strides,
             const Dim& storage_offset, const std::string& device) {
            return BoxedType{TensorType{dtype_of(dtype), std::move(sizes), std::move(strides),
                                        storage_offset, device}};
          },
          "dtype"_a, "sizes"_a, "strides"_a, "storage_offset"_a = Dim(0), "device"_a = "cpu")
      .def_static(
          "integer", [](const Dim& value) { return BoxedType{IntType{value}}; }, "value"_a)
      .def_static("number", [] { return BoxedType{FloatType{}}; })
      .def_static("boolean", [] { return BoxedType{BoolType{}}; })
      .def_static("none", [] { return BoxedType{NoneType{}}; })
      .def_static(
          "opaque", [](const std::string& text) { return BoxedType{OpaqueType{text}}; }, "text"_a)
      .def("__repr__", [](const BoxedType& boxed) { return to_string(boxed.type); });
}

}  // namespace unfuse::python
