// What the lowering of an op works with: concrete views of memory, and kernels emitted on them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "targets/cpu/fusion/packed_row_counts.h"
#include "targets/cpu/kernels/kernel.h"
#include "targets/cpu/plan.h"

namespace unfuse::cpu {

/// A strided window on a buffer of the plan being made.
struct View {
  int buffer = -1;
  std::int64_t offset = 0;  ///< of element (0, ..., 0) in the buffer, in elements
  OperandSpec spec;

  DType dtype() const { return spec.dtype; }
  const Sizes& sizes() const { return spec.sizes; }
  const Sizes& strides() const { return spec.strides; }
  std::int64_t size(std::int64_t dimension) const {
    return spec.sizes.at(static_cast<std::size_t>(dimension));
  }
  std::int64_t stride(std::int64_t dimension) const {
    return spec.strides.at(static_cast<std::size_t>(dimension));
  }
  std::int64_t rank() const { return spec.rank(); }
  std::int64_t numel() const { return spec.numel(); }
};

/// What an operand's elements take, those that are broadcast counted once.
std::int64_t bytes_of_elements(const View& view);

/// Memory that views point into.
struct Buffer {
  Place place = Place::kArena;
  std::int32_t index = 0;        ///< within its place; unused for the arena
  std::int64_t byte_offset = 0;  ///< where the buffer begins there; the arena's comes at the end
  std::int64_t bytes = 0;        ///< from there on; views stay within
  int first_step = -1;           ///< that touches it; -1 when none does
  int last_step = -1;
};

/// Rows that a run fills but in part, the first ones (see PackedRowCount).
struct RowLimit {
  View count;             ///< one int64
  std::int64_t rows = 0;  ///< at most
};

/// Builds the steps of a plan, node by node. A lowering looks its operands up with view(), says
/// where its results are with alias() or asks for memory with result(), and emits kernels. Every
/// result that is used must be aliased or asked for by the time its lowering returns.
class LoweringContext {
 public:
  LoweringContext(const SymbolValues& symbols, int threads)
      : symbols_(&symbols), threads_(threads) {}

  /// --- For lowerings
  int threads() const { return threads_; }
  std::int64_t evaluate(const Dim& dim) const { return dim.evaluate(*symbols_); }
  Sizes evaluate(const std::vector<Dim>& dims) const;
  /// The concrete sizes of a tensor value. Throws Error (kInvalidArgument) when one is negative.
  Sizes sizes(const Value* value) const;

  /// Where the elements of an operand are.
  const View& view(const Value* value) const;
  /// Memory for a result: an output's own, with the output's strides, or contiguous memory in the
  /// arena.
  View result(const Value* value);
  /// result(), but in the arena its dimensions lie in this order, the outermost first.
  View result_in_order(const Value* value, const std::vector<std::int64_t>& order);
  /// result() for a kernel that writes contiguous memory only: where result() is not contiguous, a
  /// temporary that is copied there when the node's lowering is done.
  View contiguous_result(const Value* value);
  /// result(), or contiguous_result() where the kernel does not take that layout.
  View result_if(const Value* value, bool (*takes)(const OperandSpec& spec));
  /// The result is a window on memory that exists already; nothing runs. Throws Error (kInternal)
  /// for a view that leaves its buffer.
  void alias(const Value* value, View view);

  /// Contiguous memory for what lives within one node.
  View temporary(DType dtype, Sizes sizes);
  /// The view itself when it is contiguous, else a copy that is.
  View contiguous(const View& view);
  /// The view itself when the kernel takes it, else a contiguous copy.
  View contiguous_unless(const View& view, bool (*takes)(const OperandSpec& spec));
  /// The view itself when it has this dtype, else a converted copy.
  View converted(const View& view, DType dtype);
  /// Copies elements, converting them; `from` is broadcast to the sizes of `to`.
  void copy(const View& from, const View& to);

  /// The operand of a kernel that takes the packed constant of this node, when there is one.
  std::optional<View> packed(const Node& node) const;

  /// How many rows of the node's result a run fills, when that is less than all: the leading
  /// dimensions are the rows.
  std::optional<RowLimit> row_limit() const;

  /// Adds a step. Does nothing when every output is empty. Throws Error (kInternal) for a view that
  /// leaves its buffer. `bytes` are those that the kernel reads and writes; they need to be told
  /// where it does not touch every element of its operands.
  void emit(KernelPtr kernel, const std::vector<View>& inputs, const std::vector<View>& outputs,
            std::optional<std::int64_t> bytes = std::nullopt);

  /// --- For the planner
  /// Memory that exists before the first step, and the view of all of it.
  View add_buffer(Place place, int index, const OperandSpec& spec);
  void bind(const Value* value, View view);
  /// Asks that `value`, if a kernel writes it, is written here.
  void set_destination(const Value* value, View view);
  void set_packed(const Node* node, View view);
  void set_row_counts(const PackedRowCounts* counts) { row_counts_ = counts; }
  /// Brackets the lowering of a node, or of a group whose last node it is; end_node throws Error
  /// (kInternal) when a result is missing or has other sizes than its type says.
  void begin_node(const Node* node, const std::vector<const Node*>* group = nullptr) {
    node_ = node;
    group_ = group;
  }
  void end_node();

  std::vector<Step> take_steps() { return std::move(steps_); }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  /// The buffer of each operand of each step, parallel to the steps' operands.
  const std::vector<std::vector<int>>& step_buffers() const { return step_buffers_; }
  /// The buffer of each step's scratch; -1 when it needs none.
  const std::vector<int>& scratch_buffers() const { return scratch_buffers_; }

 private:
  int add_buffer(Place place, int index, std::int64_t bytes);
  void check_bounds(const View& view) const;
  void touch(int buffer, int step);

  const SymbolValues* symbols_;
  int threads_;
  const PackedRowCounts* row_counts_ = nullptr;
  const Node* node_ = nullptr;
  const std::vector<const Node*>* group_ = nullptr;
  std::vector<Buffer> buffers_;
  std::vector<Step> steps_;
  std::vector<std::vector<int>> step_buffers_;
  std::vector<int> scratch_buffers_;
  std::unordered_map<const Value*, View> views_;
  std::unordered_map<const Value*, View> destinations_;
  std::unordered_map<const Node*, View> packed_;
  std::vector<std::pair<View, View>> pending_copies_;
};

}  // namespace unfuse::cpu
