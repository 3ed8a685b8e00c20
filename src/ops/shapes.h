// Sizes and strides as PyTorch works them out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/argument.h"
#include "ir/type.h"

namespace unfuse::ops {

/// Throws Error (kInvalidArgument).
[[noreturn]] void refuse(const std::string& message);
/// Throws Error (kUnsupported): the call may be right, but the result's type cannot be told.
[[noreturn]] void cannot_tell(const std::string& message);

bool is_tensor(const Argument& argument);

/// The type of a tensor argument. Throws Error (kInvalidArgument) when it is none.
const TensorType& tensor_type(const Argument& argument);

/// A dimension counted from the front; a 0-d tensor has dimensions 0 and -1 too.
/// Throws Error (kInvalidArgument) when it is out of range.
std::int64_t wrap_dimension(std::int64_t dimension, std::int64_t rank);

/// The dimension of `type` that an int argument names.
std::size_t dimension_of(const Argument& argument, const TensorType& type);
/// The same, but refuses 0-d tensors, which have no dimension to cut.
std::size_t real_dimension_of(const Argument& argument, const TensorType& type);

void erase_dimension(TensorType& type, std::size_t dimension);
void insert_dimension(TensorType& type, std::size_t dimension, const Dim& size, const Dim& stride);

/// For each dimension, whether it is in the list; an empty list names all when `empty_is_all`.
std::vector<bool> dimension_mask(const std::vector<std::int64_t>& dimensions, std::int64_t rank,
                                 bool empty_is_all);

/// Throws Error (kInvalidArgument) for sizes that differ, or that cannot be shown to fit.
std::vector<Dim> broadcast(const std::vector<Dim>& left, const std::vector<Dim>& right);

/// `sizes` with one -1 replaced by what is left of `numel`.
/// Throws Error (kInvalidArgument) when the elements do not come out even.
std::vector<Dim> infer_sizes(const std::vector<Dim>& sizes, const Dim& numel);

/// Strides of a view with other sizes; empty when only a copy can have them.
std::optional<std::vector<Dim>> view_strides(const TensorType& type, const std::vector<Dim>& sizes);

/// Strides of a pointwise result that has `sizes`, from those of its operands (TensorIterator's
/// rule).
std::vector<Dim> pointwise_strides(std::span<const TensorType> operands,
                                   const std::vector<Dim>& sizes);

/// Strides of a copy that preserves the memory format: those of a dense tensor, else dense ones in
/// the same order.
std::vector<Dim> preserved_strides(const TensorType& type);

/// Strides for an explicit memory format. Throws Error (kInvalidArgument) for channels_last of a
/// tensor that is not 4-d.
std::vector<Dim> strides_of_format(MemoryFormat format, const TensorType& type);

/// The lesser and the greater of two sizes: one of them where that can be told of symbols that are
/// not negative, else a min or max of both.
Dim least(const Dim& left, const Dim& right);
Dim greatest(const Dim& left, const Dim& right);

/// A contiguous tensor on the device of `like`.
TensorType contiguous_like(const TensorType& like, DType dtype, std::vector<Dim> sizes);

}  // namespace unfuse::ops
