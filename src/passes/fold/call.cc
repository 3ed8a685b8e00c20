#include "passes/fold/call.h"

#include <utility>

namespace unfuse::passes {

std::optional<Constant> Call::operand(int index) const {
  const Argument& argument = node.argument(index);
  if (argument.is_value()) {
    const Constant* known = constant_of(argument.value());
    return known == nullptr ? std::nullopt : std::optional(*known);
  }
  if (!argument.is_constant_scalar()) return std::nullopt;
  Constant number;
  number.uniform = true;
  number.dtype = argument.holds<double>() ? DType::kFloat64
                 : argument.holds<bool>() ? DType::kBool
                                          : DType::kInt64;
  if (number.is_float()) {
    number.floats = {argument.number()};
  } else {
    number.ints = {argument.integer()};
  }
  return number;
}

Constant Call::result() const {
  Constant made;
  made.dtype = node.result()->dtype();
  made.sizes = node.result()->sizes();
  return made;
}

std::optional<std::vector<std::int64_t>> small_sizes(const std::vector<Dim>& sizes) {
  auto known = constants(sizes);
  if (!known) return std::nullopt;
  std::int64_t count = 1;
  for (const std::int64_t size : *known) {
    count *= size;
    if (count > kMostFoldedElements) return std::nullopt;
  }
  return known;
}

std::int64_t count_of(const std::vector<std::int64_t>& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

Walk::Walk(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)), at_(sizes_.size()) {}

void Walk::step() {
  for (std::size_t d = sizes_.size(); d-- > 0;) {
    if (++at_[d] < sizes_[d]) return;
    at_[d] = 0;
  }
}

std::int64_t Walk::offset(const std::vector<std::int64_t>& strides) const {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < at_.size(); ++d) offset += at_[d] * strides[d];
  return offset;
}

std::vector<std::int64_t> broadcast_strides(const std::vector<std::int64_t>& sizes,
                                            const std::vector<std::int64_t>& to) {
  const std::vector<std::int64_t> own = contiguous_strides(sizes);
  std::vector<std::int64_t> strides(to.size(), 0);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t place = to.size() - sizes.size() + i;
    if (sizes[i] != 1) strides[place] = own[i];
  }
  return strides;
}

bool append_from(Constant& made, const Constant& from, std::size_t index) {
  const std::size_t at = from.uniform ? 0 : index;
  return from.is_float() ? made.append(from.floats[at]) : made.append(from.ints[at]);
}

}  // namespace unfuse::passes
