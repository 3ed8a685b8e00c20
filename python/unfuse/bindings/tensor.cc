#include "tensor.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "unfuse/error.h"

namespace nb = nanobind;

namespace unfuse::python {
namespace {

/// Lets go of a Python object on whatever thread the last copy of a tensor dies.
std::shared_ptr<void> keep_alive(nb::handle owner) {
  if (owner.is_none()) return nullptr;
  owner.inc_ref();
  return {owner.ptr(), [](void* object) {
            nb::gil_scoped_acquire locked;
            Py_DECREF(static_cast<PyObject*>(object));
          }};
}

nb::dlpack::dtype dlpack_dtype(DType dtype, bool brain_as_integer) {
  const auto code = [&]() -> nb::dlpack::dtype_code {
    if (dtype == DType::kBool) return nb::dlpack::dtype_code::Bool;
    if (dtype == DType::kBFloat16) {
      return brain_as_integer ? nb::dlpack::dtype_code::UInt : nb::dlpack::dtype_code::Bfloat;
    }
    if (is_complex(dtype)) return nb::dlpack::dtype_code::Complex;
    if (dtype == DType::kFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64) {
      return nb::dlpack::dtype_code::Float;
    }
    if (dtype_name(dtype).starts_with("uint")) return nb::dlpack::dtype_code::UInt;
    if (is_integer(dtype)) return nb::dlpack::dtype_code::Int;
    throw Error(ErrorKind::kUnsupported,
                "a result of dtype " + std::string(dtype_name(dtype)) + " cannot go to Python");
  }();
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(dtype_size(dtype) * 8), 1};
}

template <typename Array>
nb::object share(const Tensor& tensor, bool brain_as_integer) {
  auto owned = std::make_unique<Tensor>(tensor);
  nb::capsule owner(owned.get(), [](void* held) noexcept { delete static_cast<Tensor*>(held); });
  const Tensor* kept = owned.release();
  const std::vector<std::size_t> sizes(kept->sizes().begin(), kept->sizes().end());
  return nb::cast(Array(kept->data(), sizes.size(), sizes.data(), owner, kept->strides().data(),
                        dlpack_dtype(kept->dtype(), brain_as_integer)));
}

}  // namespace

Tensor to_tensor(nb::handle description) {
  const auto parts = nb::cast<nb::tuple>(description);
  if (parts.size() != 5) throw Error(ErrorKind::kInternal, "a tensor is described by five parts");
  const auto name = nb::cast<std::string>(parts[1]);
  const std::optional<DType> dtype = dtype_from_name(name);
  if (!dtype) throw Error(ErrorKind::kInvalidArgument, "there is no dtype " + name);
  void* address = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(parts[0]));
  return Tensor::view(address, *dtype, nb::cast<std::vector<std::int64_t>>(parts[2]),
                      nb::cast<std::vector<std::int64_t>>(parts[3]), keep_alive(parts[4]));
}

nb::object to_dlpack(const Tensor& tensor) { return share<nb::ndarray<>>(tensor, false); }

nb::object to_numpy(const Tensor& tensor) { return share<nb::ndarray<nb::numpy>>(tensor, true); }

}  // namespace unfuse::python
