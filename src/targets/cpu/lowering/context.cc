#include "targets/cpu/lowering/context.h"

#include <fmt/format.h>

#include <algorithm>

#include "targets/cpu/kernels/copy.h"
#include "targets/cpu/layout.h"
#include "targets/cpu/lowering/view_algebra.h"
#include "unfuse/error.h"

namespace unfuse::cpu {

std::int64_t bytes_of_elements(const View& view) {
  auto bytes = static_cast<std::int64_t>(dtype_size(view.dtype()));
  for (std::int64_t i = 0; i < view.rank(); ++i) {
    if (view.stride(i) != 0) bytes *= view.size(i);
  }
  return bytes;
}

Sizes LoweringContext::evaluate(const std::vector<Dim>& dims) const {
  Sizes values;
  values.reserve(dims.size());
  for (const Dim& dim : dims) values.push_back(evaluate(dim));
  return values;
}

Sizes LoweringContext::sizes(const Value* value) const {
  Sizes sizes = evaluate(value->sizes());
  for (const std::int64_t size : sizes) {
    if (size >= 0) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("the inputs are too small: %{} would have the sizes {}", value->name(),
                            sizes_text(sizes)));
  }
  return sizes;
}

const View& LoweringContext::view(const Value* value) const {
  const auto found = views_.find(value);
  if (found == views_.end()) {
    throw Error(ErrorKind::kInternal,
                fmt::format("value %{} has no memory in the plan", value->name()));
  }
  return found->second;
}

View LoweringContext::result(const Value* value) {
  const auto destination = destinations_.find(value);
  View view = destination != destinations_.end() ? destination->second
                                                 : temporary(value->dtype(), sizes(value));
  views_[value] = view;
  return view;
}

View LoweringContext::result_in_order(const Value* value, const std::vector<std::int64_t>& order) {
  if (destinations_.contains(value)) return result(value);
  const Sizes plain = sizes(value);
  Sizes laid;
  std::vector<std::int64_t> back(order.size());
  for (const std::int64_t dim : order) {
    back[static_cast<std::size_t>(dim)] = static_cast<std::int64_t>(laid.size());
    laid.push_back(plain[static_cast<std::size_t>(dim)]);
  }
  View view = permuted(temporary(value->dtype(), laid), back);
  views_[value] = view;
  return view;
}

View LoweringContext::contiguous_result(const Value* value) {
  View final = result(value);
  if (final.spec.is_contiguous()) return final;
  View written = temporary(final.dtype(), final.sizes());
  pending_copies_.emplace_back(written, final);
  return written;
}

View LoweringContext::result_if(const Value* value, bool (*takes)(const OperandSpec& spec)) {
  View view = result(value);
  return takes(view.spec) ? view : contiguous_result(value);
}

void LoweringContext::alias(const Value* value, View view) {
  check_bounds(view);
  views_[value] = std::move(view);
}

View LoweringContext::temporary(DType dtype, Sizes sizes) {
  const std::int64_t bytes = checked_bytes(dtype, sizes);
  View view;
  view.spec = OperandSpec::contiguous(dtype, std::move(sizes));
  view.buffer = add_buffer(Place::kArena, 0, bytes);
  return view;
}

View LoweringContext::contiguous(const View& view) {
  if (view.spec.is_contiguous()) return view;
  View copied = temporary(view.dtype(), view.sizes());
  copy(view, copied);
  return copied;
}

View LoweringContext::contiguous_unless(const View& view, bool (*takes)(const OperandSpec& spec)) {
  return takes(view.spec) ? view : contiguous(view);
}

View LoweringContext::converted(const View& view, DType dtype) {
  if (view.dtype() == dtype) return view;
  View copied = temporary(dtype, view.sizes());
  copy(view, copied);
  return copied;
}

void LoweringContext::copy(const View& from, const View& to) {
  const View expanded = broadcast(from, to.sizes());
  const std::size_t before = steps_.size();
  emit(select_copy({expanded.spec, to.spec, threads_}), {expanded}, {to});
  if (steps_.size() > before) steps_.back().is_copy = true;
}

std::optional<View> LoweringContext::packed(const Node& node) const {
  const auto found = packed_.find(&node);
  if (found == packed_.end()) return std::nullopt;
  return found->second;
}

std::optional<RowLimit> LoweringContext::row_limit() const {
  if (row_counts_ == nullptr) return std::nullopt;
  const auto found = row_counts_->find(node_);
  if (found == row_counts_->end()) return std::nullopt;
  const View offsets = view(found->second.offsets);
  RowLimit limit{selected(offsets, 0, offsets.size(0) - 1), evaluate(found->second.rows)};
  if (limit.rows == 0) return std::nullopt;
  return limit;
}

void LoweringContext::emit(KernelPtr kernel, const std::vector<View>& inputs,
                           const std::vector<View>& outputs, std::optional<std::int64_t> bytes) {
  const bool empty = std::all_of(outputs.begin(), outputs.end(),
                                 [](const View& view) { return view.numel() == 0; });
  if (empty) return;
  const int index = static_cast<int>(steps_.size());
  Step step;
  step.node = node_;
  if (group_ != nullptr) step.group = *group_;
  std::vector<int> operand_buffers;
  for (const std::vector<View>* views : {&inputs, &outputs}) {
    for (const View& view : *views) {
      check_bounds(view);
      const Buffer& buffer = buffers_.at(static_cast<std::size_t>(view.buffer));
      const auto element = static_cast<std::int64_t>(dtype_size(view.dtype()));
      step.operands.push_back(
          {buffer.place, buffer.index, buffer.byte_offset + view.offset * element});
      operand_buffers.push_back(view.buffer);
      touch(view.buffer, index);
      if (buffer.place != Place::kPacked) step.bytes += bytes_of_elements(view);
    }
  }
  int scratch = -1;
  if (kernel->scratch_bytes() > 0) {
    scratch = add_buffer(Place::kArena, 0, static_cast<std::int64_t>(kernel->scratch_bytes()));
    touch(scratch, index);
  }
  if (bytes) step.bytes = *bytes;
  step.kernel = std::move(kernel);
  steps_.push_back(std::move(step));
  step_buffers_.push_back(std::move(operand_buffers));
  scratch_buffers_.push_back(scratch);
}

View LoweringContext::add_buffer(Place place, int index, const OperandSpec& spec) {
  View view;
  view.spec = spec;
  view.buffer = add_buffer(place, index, extent_bytes(spec));
  return view;
}

int LoweringContext::add_buffer(Place place, int index, std::int64_t bytes) {
  Buffer buffer;
  buffer.place = place;
  buffer.index = index;
  buffer.bytes = bytes;
  buffers_.push_back(buffer);
  return static_cast<int>(buffers_.size()) - 1;
}

/// What no lowering should ever do, and a damaged file might bring one to.
void LoweringContext::check_bounds(const View& view) const {
  const Buffer& buffer = buffers_.at(static_cast<std::size_t>(view.buffer));
  if (buffer.place == Place::kPacked || view.numel() == 0) return;
  std::int64_t first = view.offset;
  std::int64_t last = view.offset;
  for (std::int64_t i = 0; i < view.rank(); ++i) {
    (view.stride(i) < 0 ? first : last) += (view.size(i) - 1) * view.stride(i);
  }
  const auto element = static_cast<std::int64_t>(dtype_size(view.dtype()));
  if (first >= 0 && (last + 1) * element <= buffer.bytes) return;
  throw Error(ErrorKind::kInternal, "a view leaves its memory");
}

void LoweringContext::bind(const Value* value, View view) { views_[value] = std::move(view); }

void LoweringContext::set_destination(const Value* value, View view) {
  destinations_[value] = std::move(view);
}

void LoweringContext::set_packed(const Node* node, View view) { packed_[node] = std::move(view); }

void LoweringContext::end_node() {
  for (const auto& [from, to] : pending_copies_) copy(from, to);
  pending_copies_.clear();
  for (const Value* value : node_->results()) {
    if (value->use_count() == 0) continue;
    const Sizes expected = sizes(value);
    const Sizes& found = view(value).sizes();
    if (found == expected) continue;
    throw Error(ErrorKind::kInternal,
                fmt::format("%{} has sizes {}, but its type says {}", value->name(),
                            sizes_text(found), sizes_text(expected)));
  }
  node_ = nullptr;
  group_ = nullptr;
}

void LoweringContext::touch(int buffer, int step) {
  Buffer& touched = buffers_.at(static_cast<std::size_t>(buffer));
  if (touched.first_step < 0) touched.first_step = step;
  touched.last_step = step;
}

}  // namespace unfuse::cpu
