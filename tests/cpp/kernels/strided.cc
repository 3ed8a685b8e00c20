#include "kernels/strided.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <sstream>

#include "targets/cpu/kernels/tile_io.h"

namespace unfuse::cpu::testing {

void for_each_index(const Sizes& sizes, const std::function<void(const Index&)>& visit) {
  Index index(sizes.size(), 0);
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  for (std::int64_t i = 0; i < count; ++i) {
    visit(index);
    for (std::size_t dim = sizes.size(); dim-- > 0;) {
      if (++index[dim] < sizes[dim]) break;
      index[dim] = 0;
    }
  }
}

OperandSpec placed(DType dtype, const Sizes& sizes, const Placement& placement) {
  std::vector<int> order = placement.order;
  if (order.empty()) {
    order.resize(sizes.size());
    std::iota(order.begin(), order.end(), 0);
  }
  OperandSpec spec = {dtype, sizes, Sizes(sizes.size(), 0)};
  std::int64_t stride = placement.inner_step;
  for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
    const auto index = static_cast<std::size_t>(*dim);
    const auto& broadcast = placement.broadcast;
    if (std::find(broadcast.begin(), broadcast.end(), *dim) != broadcast.end()) continue;
    spec.strides[index] = stride;
    stride *= std::max<std::int64_t>(1, sizes[index]);
    if (dim == order.rbegin()) stride += placement.gap;
  }
  return spec;
}

Strided::Strided(OperandSpec spec) : spec_(std::move(spec)) {
  std::int64_t extent = spec_.numel() == 0 ? 0 : 1;
  for (std::size_t dim = 0; extent != 0 && dim < spec_.sizes.size(); ++dim) {
    extent += (spec_.sizes[dim] - 1) * spec_.strides[dim];
  }
  const std::size_t bytes = static_cast<std::size_t>(extent) * dtype_size(spec_.dtype);
  memory_.assign(bytes + 2 * kGuardBytes, kGuard);
}

std::int64_t Strided::byte_offset(const Index& index) const {
  std::int64_t offset = 0;
  for (std::size_t dim = 0; dim < index.size(); ++dim) offset += index[dim] * spec_.strides[dim];
  return offset * static_cast<std::int64_t>(dtype_size(spec_.dtype)) +
         static_cast<std::int64_t>(kGuardBytes);
}

double Strided::get(const Index& index) const {
  double value = 0;
  load_function(spec_.dtype, RegisterType::kFloat64)(memory_.data() + byte_offset(index), 1, 1,
                                                     &value);
  return value;
}

void Strided::set(const Index& index, double value) {
  store_function(RegisterType::kFloat64, spec_.dtype)(&value, 1, 1,
                                                      memory_.data() + byte_offset(index));
}

void Strided::fill(const std::function<double(const Index&)>& value) {
  for_each_index(spec_.sizes, [&](const Index& index) { set(index, value(index)); });
}

void Strided::fill_random(std::mt19937& random, double low, double high) {
  std::uniform_real_distribution<double> uniform(low, high);
  fill([&](const Index&) { return uniform(random); });
}

void Strided::expect_gaps_untouched() const {
  std::vector<bool> is_element(memory_.size(), false);
  for_each_index(spec_.sizes, [&](const Index& index) {
    const auto offset = static_cast<std::size_t>(byte_offset(index));
    for (std::size_t i = 0; i < dtype_size(spec_.dtype); ++i) is_element[offset + i] = true;
  });
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    if (!is_element[i] && memory_[i] != kGuard) {
      ADD_FAILURE() << "byte " << i << " is no element's and was written";
      return;
    }
  }
}

void run_kernel_on(const Kernel& kernel, const std::vector<void*>& operands) {
  constexpr std::size_t kAlignment = 64;
  constexpr std::byte kGuard{0x5A};
  const std::size_t bytes = kernel.scratch_bytes();
  std::vector<std::byte> memory(bytes + 3 * kAlignment, kGuard);
  void* aligned = memory.data();
  std::size_t space = memory.size();
  std::align(kAlignment, bytes + kAlignment, aligned, space);
  auto* scratch = static_cast<std::byte*>(aligned);
  kernel.run(operands, scratch);
  for (std::size_t i = 0; i < kAlignment; ++i) {
    ASSERT_EQ(scratch[bytes + i], kGuard) << "the kernel wrote past its scratch";
  }
}

void run_kernel(const Kernel& kernel, const std::vector<Strided*>& operands) {
  std::vector<void*> pointers;
  for (Strided* operand : operands) pointers.push_back(operand->data());
  run_kernel_on(kernel, pointers);
  for (const Strided* operand : operands) operand->expect_gaps_untouched();
}

void expect_close(const Strided& actual, const std::function<double(const Index&)>& expected,
                  double absolute, double relative) {
  int failures = 0;
  for_each_index(actual.spec().sizes, [&](const Index& index) {
    const double got = actual.get(index);
    const double wanted = expected(index);
    if (std::isnan(wanted) && std::isnan(got)) return;
    if (got == wanted) return;
    if (std::abs(got - wanted) <= absolute + relative * std::abs(wanted)) return;
    if (++failures > 5) return;
    std::ostringstream where;
    for (const std::int64_t i : index) where << i << ' ';
    ADD_FAILURE() << "at [ " << where.str() << "]: " << got << ", expected " << wanted;
  });
  EXPECT_EQ(failures, 0) << "elements are wrong";
}

}  // namespace unfuse::cpu::testing
