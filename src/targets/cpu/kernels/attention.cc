#include "targets/cpu/kernels/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "targets/cpu/kernels/attention_mask.h"
#include "targets/cpu/kernels/attention_shape.h"
#include "targets/cpu/kernels/attention_tile.h"
#include "targets/cpu/kernels/product_split.h"
#include "targets/cpu/parallel.h"
#include "targets/cpu/rounding.h"

namespace unfuse::cpu {
namespace {

/// Query rows that share one packing of the keys at most.
constexpr std::int64_t kMaximumRowBlock = 20 * kAttentionTileRows;
/// Blocks a thread, so that threads end together.
constexpr std::int64_t kBlocksPerThread = 4;
/// Where there are too few, blocks split their keys, but in no parts smaller than this.
constexpr std::int64_t kMinimumPart = 512;
/// So many rows or less multiply their weights with values that are not packed.
constexpr std::int64_t kFewRowsOfValues = 16;
/// What the softmax of a score costs, in multiply-adds.
constexpr std::int64_t kSoftmaxCost = 16;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

/// Hands out pieces of scratch, each on cache lines of its own.
class Pieces {
 public:
  explicit Pieces(std::byte* begin) : begin_(begin) {}
  float* take(std::int64_t floats) {
    auto* taken = reinterpret_cast<float*>(begin_ + bytes_);
    bytes_ += static_cast<std::size_t>(round_up(floats, 16)) * sizeof(float);
    return taken;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* begin_;
  std::size_t bytes_ = 0;
};

/// What a thread works in.
struct Buffers {
  float *queries, *keys, *values, *scores, *masks;
  float* rounded_keys;  ///< before they are packed
};

/// The running softmax of the rows of a block.
struct Running {
  float *output, *maxima, *sums;
};

/// Rows that are done at a time, and the keys that they meet.
struct Block {
  const float *query, *key, *value;  ///< of the group
  const std::byte* mask = nullptr;
  float* output;
  std::int64_t length, source_length;  ///< of the group
  AttentionRowSet rows;                ///< none where the group has less
  KeyRange keys;
};

/// Some keys for all rows of a block. What costs something is done when it is first needed.
struct KeyTile {
  KeyRange keys;
  bool is_packed = false;
  float key_magnitude = -1;  ///< negative: not looked at
};

/// Of one call. Offsets are null where rows are not packed.
struct AttentionOperands {
  const std::int64_t* offsets = nullptr;
  std::span<void* const> others;
};

/// In multiply-adds, were nothing masked.
std::int64_t work_of(const AttentionShape& shape) {
  const std::int64_t rows = shape.groups * shape.heads_in_group * shape.length;
  return rows * shape.source_length * (shape.depth + shape.width + kSoftmaxCost);
}

class AttentionKernel final : public Kernel {
 public:
  explicit AttentionKernel(const AttentionSpec& spec);
  std::size_t scratch_bytes() const override {
    const std::int64_t running = parts_ == 1 ? threads_ : blocks() * parts_;
    return static_cast<std::size_t>(threads_) * buffers_bytes_ +
           static_cast<std::size_t>(running) * running_bytes_;
  }
  void run(std::span<void* const> all, std::byte* scratch) const override;

 private:
  void choose_blocks();
  void choose_sizes(Products products);
  std::int64_t blocks() const { return shape_.groups * head_blocks_ * row_blocks_; }
  Buffers take_buffers(Pieces& pieces) const;
  Running take_running(Pieces& pieces) const;
  Buffers buffers(std::byte* scratch) const;
  Running running(std::byte* scratch, std::int64_t index) const;
  Block block(const AttentionOperands& operands, std::int64_t index) const;
  void point_at_group(const AttentionOperands& operands, std::int64_t group, Block& block) const;
  KeyRange part(KeyRange keys, std::int64_t index) const;
  void run_in_parts(const AttentionOperands& operands, std::byte* scratch) const;
  void merge(const Running& running, const Running& other, std::int64_t rows) const;

  void run_block(const Block& block, const Buffers& own, const Running& running) const;
  void start(const Block& block, const Buffers& own, const Running& running) const;
  bool run_range(const Block& block, const Buffers& own, const Running& running, KeyRange keys,
                 bool may_defer) const;
  bool run_keys(const Block& block, const Buffers& own, const Running& running, KeyTile& keys,
                bool may_defer) const;
  const std::int64_t* causal_limits(const Block& block, std::int64_t first, std::int64_t rows,
                                    KeyRange keys, std::int64_t* limits) const;
  float query_magnitude(const Block& block, std::int64_t first, std::int64_t rows) const;
  bool is_weightless(const Block& block, const AttentionTile& tile,
                     const AttentionMaskSummary& mask, std::int64_t first_row, KeyTile& keys) const;
  void provide_keys(const Block& block, const Buffers& own, KeyTile& keys,
                    AttentionTile& tile) const;
  void pack_keys(const float* key, const float* value, std::int64_t count,
                 const Buffers& own) const;
  std::int64_t values_size() const;
  bool multiplies_pairs() const { return pair_functions_ != nullptr; }
  void finish(const Block& block, const Running& running) const;

  AttentionFunctions functions_ = attention_functions();
  const AttentionPairFunctions* pair_functions_ = nullptr;  ///< null: products are float32
  AttentionShape shape_;
  AttentionMask mask_;
  float scale_;
  float query_factor_ = 1;
  bool is_causal_, zero_fully_masked_, is_packed_;
  int threads_;

  std::int64_t heads_a_block_ = 1, head_blocks_ = 1;
  std::int64_t row_block_ = 0, row_blocks_ = 0;
  std::int64_t parts_ = 1;
  bool takes_keys_in_place_ = false, takes_values_in_place_ = false;
  std::int64_t key_tile_ = 0;
  std::int64_t depth_elements_ = 0;  ///< of a query or a key, as it is multiplied
  std::int64_t row_multiple_ = kAttentionRowMultiple;
  std::int64_t padded_rows_ = 0, score_stride_ = 0, value_stride_ = 0, output_stride_ = 0;
  std::size_t buffers_bytes_ = 0, running_bytes_ = 0;
};

AttentionKernel::AttentionKernel(const AttentionSpec& spec)
    : shape_(spec),
      mask_(spec, shape_, functions_),
      scale_(spec.scale),
      is_causal_(spec.is_causal),
      zero_fully_masked_(spec.zero_fully_masked),
      is_packed_(spec.is_packed),
      threads_(useful_threads(work_of(shape_), std::max(1, spec.threads))) {
  // Tiles take positive scales: what else there is goes into the queries.
  if (scale_ == 0) {
    query_factor_ = 0;
    scale_ = 1;
  } else if (scale_ < 0) {
    query_factor_ = -1;
    scale_ = -scale_;
  }
  choose_blocks();
  choose_sizes(spec.products);
}

void AttentionKernel::choose_blocks() {
  const std::int64_t length = std::max<std::int64_t>(1, shape_.length);
  const std::int64_t heads = std::max<std::int64_t>(1, shape_.heads_in_group);
  // Few blocks pack the keys less often; many spread better over threads.
  const std::int64_t wanted = threads_ == 1 ? 1 : kBlocksPerThread * threads_;
  const std::int64_t a_group = divide_up(wanted, std::max<std::int64_t>(1, shape_.groups));
  const std::int64_t heads_at_once = std::clamp(kMaximumRowBlock / length, std::int64_t{1}, heads);
  head_blocks_ = std::max(divide_up(heads, heads_at_once), std::min(a_group, heads));
  heads_a_block_ = divide_up(heads, head_blocks_);
  head_blocks_ = divide_up(heads, heads_a_block_);
  row_blocks_ = divide_up(length, kMaximumRowBlock);
  if (heads_a_block_ == 1) {
    const std::int64_t most = divide_up(length, kAttentionTileRows);
    row_blocks_ = std::max(row_blocks_, std::min(most, divide_up(a_group, head_blocks_)));
  }
  // Whole tiles: a low one waits for the keys.
  row_block_ = std::min(length, round_up(divide_up(length, row_blocks_), kAttentionTileRows));
  row_blocks_ = divide_up(length, row_block_);
  if (blocks() == 0 || blocks() >= wanted) return;
  parts_ =
      std::clamp(shape_.source_length / kMinimumPart, std::int64_t{1}, divide_up(wanted, blocks()));
}

void AttentionKernel::choose_sizes(Products products) {
  const std::int64_t vector = functions_.vector;
  const std::int64_t rows = heads_a_block_ * row_block_;
  // What so few rows read is not worth packing.
  takes_keys_in_place_ =
      rows <= kAttentionFewRows && shape_.depth > 0 && shape_.depth % vector == 0;
  takes_values_in_place_ = rows <= kFewRowsOfValues && shape_.width % vector == 0;
  depth_elements_ = shape_.depth;
  if (!takes_keys_in_place_ && !takes_values_in_place_) {
    pair_functions_ = attention_pair_functions(products);
  }
  if (multiplies_pairs()) {
    depth_elements_ = round_up(divide_up(shape_.depth, 2), pair_functions_->depth_multiple);
    row_multiple_ = pair_functions_->row_multiple;
  }
  padded_rows_ = round_up(rows, row_multiple_);
  // Packed keys and values should stay in the second-level cache.
  const std::int64_t largest = std::max(shape_.depth, shape_.width);
  key_tile_ = largest <= 128 ? 256 : largest <= 256 ? 128 : 64;
  key_tile_ =
      std::min(key_tile_, round_up(std::max<std::int64_t>(1, shape_.source_length), vector));
  // Rows at distances of a power of two would share cache sets.
  score_stride_ = round_up(key_tile_, std::max<std::int64_t>(4, vector)) + 16;
  output_stride_ = round_up(std::max<std::int64_t>(1, shape_.width), vector);
  value_stride_ = output_stride_ + (output_stride_ % 128 == 0 ? 16 : 0);
  Pieces buffers(nullptr);
  take_buffers(buffers);
  buffers_bytes_ = buffers.bytes();
  Pieces running(nullptr);
  take_running(running);
  running_bytes_ = running.bytes();
}

Buffers AttentionKernel::take_buffers(Pieces& pieces) const {
  const std::int64_t tile_rows = std::min(padded_rows_, kAttentionTileRows);
  Buffers own;
  own.queries = pieces.take(padded_rows_ * depth_elements_);
  own.keys = pieces.take(
      takes_keys_in_place_ ? 0 : functions_.packed_keys_size(key_tile_, depth_elements_));
  own.rounded_keys = pieces.take(multiplies_pairs() ? key_tile_ * depth_elements_ : 0);
  own.values = pieces.take(takes_values_in_place_ ? 0 : values_size());
  own.scores = pieces.take(tile_rows * score_stride_);
  own.masks = pieces.take(mask_.scratch_size(tile_rows, key_tile_));
  return own;
}

/// Floats of packed values.
std::int64_t AttentionKernel::values_size() const {
  if (!multiplies_pairs()) return key_tile_ * value_stride_;
  return round_up(divide_up(key_tile_, 2), pair_functions_->depth_multiple) * value_stride_;
}

Running AttentionKernel::take_running(Pieces& pieces) const {
  Running running;
  running.output = pieces.take(padded_rows_ * output_stride_);
  running.maxima = pieces.take(padded_rows_ + kAttentionTileRows);
  running.sums = pieces.take(padded_rows_ * functions_.vector);
  return running;
}

/// Of the calling thread.
Buffers AttentionKernel::buffers(std::byte* scratch) const {
  Pieces pieces(scratch + static_cast<std::size_t>(thread_index()) * buffers_bytes_);
  return take_buffers(pieces);
}

Running AttentionKernel::running(std::byte* scratch, std::int64_t index) const {
  Pieces pieces(scratch + static_cast<std::size_t>(threads_) * buffers_bytes_ +
                static_cast<std::size_t>(index) * running_bytes_);
  return take_running(pieces);
}

/// Where the group's operands begin, and how many rows and keys it has.
void AttentionKernel::point_at_group(const AttentionOperands& operands, std::int64_t group,
                                     Block& block) const {
  const std::int64_t* offsets = operands.offsets;
  const std::int64_t sequence = offsets == nullptr ? 0 : shape_.sequence(group);
  const std::int64_t first_row = offsets == nullptr ? 0 : offsets[sequence];
  const auto begin = [&](std::size_t operand, const AttentionStrides& strides) {
    const std::int64_t offset =
        offsets == nullptr ? shape_.offset(strides, group)
                           : shape_.packed_offset(strides, group) + first_row * strides.row;
    return static_cast<float*>(operands.others[operand]) + offset;
  };
  block.query = begin(0, shape_.query);
  block.key = begin(1, shape_.key);
  block.value = begin(2, shape_.value);
  block.output = begin(operands.others.size() - 1, shape_.output);
  block.length = offsets == nullptr ? shape_.length : offsets[sequence + 1] - first_row;
  block.source_length = offsets == nullptr ? shape_.source_length : block.length;
  if (!mask_.exists()) return;
  const void* mask = operands.others[3];
  block.mask =
      offsets == nullptr ? mask_.of_group(mask, group) : mask_.of_sequence(mask, first_row);
}

Block AttentionKernel::block(const AttentionOperands& operands, std::int64_t index) const {
  // The last rows of a causal head see the most keys: they go first, so that threads end together.
  const std::int64_t row_index = row_blocks_ - 1 - index % row_blocks_;
  const std::int64_t head_index = index / row_blocks_ % head_blocks_;
  const std::int64_t group = index / row_blocks_ / head_blocks_;
  Block block;
  point_at_group(operands, group, block);
  block.rows.first_head = head_index * heads_a_block_;
  block.rows.heads = std::min(heads_a_block_, shape_.heads_in_group - block.rows.first_head);
  block.rows.first_row = row_index * row_block_;
  block.rows.rows_a_head =
      std::clamp(block.length - block.rows.first_row, std::int64_t{0}, row_block_);
  // Keys past the last row are above the diagonal.
  const std::int64_t last_row = block.rows.first_row + block.rows.rows_a_head;
  block.keys.end = is_causal_ ? std::min(block.source_length, last_row) : block.source_length;
  return block;
}

void AttentionKernel::start(const Block& block, const Buffers& own, const Running& running) const {
  const AttentionRowSet& rows = block.rows;
  for (std::int64_t head = 0; head < rows.heads; ++head) {
    const std::int64_t row = head * rows.rows_a_head;
    const auto copy = multiplies_pairs() ? pair_functions_->copy_rows : functions_.copy_rows;
    copy(block.query + rows.offset(shape_.query, row), shape_.query.row, rows.rows_a_head,
         shape_.depth, query_factor_, own.queries + row * depth_elements_, depth_elements_);
  }
  const std::int64_t size = rows.size();
  const std::int64_t padded = round_up(size, row_multiple_);
  std::fill(own.queries + size * depth_elements_, own.queries + padded * depth_elements_, 0.0f);
  std::fill(running.output, running.output + padded * output_stride_, 0.0f);
  std::fill(running.maxima, running.maxima + padded, kMinusInfinity);
  std::fill(running.sums, running.sums + padded * functions_.vector, 0.0f);
}

void AttentionKernel::run_block(const Block& block, const Buffers& own,
                                const Running& running) const {
  if (block.rows.size() == 0) return;
  start(block, own, running);
  KeyRange visible = block.keys;
  const bool has_same_mask = mask_.exists() && mask_.is_same_for(block.rows);
  if (has_same_mask) visible = mask_.visible(block.mask, block.rows, block.keys, own.masks);
  // Whether keys that a mask nearly hides have any weight shows when the others are done.
  bool is_deferred = false;
  for (const bool may_defer : {true, false}) {
    if (!may_defer && !is_deferred) break;
    for (const KeyRange& range : {visible, KeyRange{block.keys.begin, visible.begin},
                                  KeyRange{visible.end, block.keys.end}}) {
      is_deferred |= run_range(block, own, running, range, may_defer);
    }
  }
}

/// Returns whether something was deferred.
bool AttentionKernel::run_range(const Block& block, const Buffers& own, const Running& running,
                                KeyRange keys, bool may_defer) const {
  bool is_deferred = false;
  for (std::int64_t key = keys.begin; key < keys.end; key += key_tile_) {
    KeyTile tile;
    tile.keys = {key, std::min(key + key_tile_, keys.end)};
    is_deferred |= run_keys(block, own, running, tile, may_defer);
  }
  return is_deferred;
}

bool AttentionKernel::run_keys(const Block& block, const Buffers& own, const Running& running,
                               KeyTile& keys, bool may_defer) const {
  std::array<const void*, kAttentionTileRows> masks;
  std::array<std::int64_t, kAttentionTileRows> limits;
  bool is_deferred = false;
  AttentionTile tile;
  tile.count = keys.keys.size();
  tile.depth = depth_elements_;
  tile.width = shape_.width;
  tile.scores = own.scores;
  tile.score_stride = score_stride_;
  tile.scale = scale_;
  tile.mask = masks.data();
  tile.output_stride = output_stride_;
  const std::int64_t size = block.rows.size();
  for (std::int64_t row = 0; row < size; row += kAttentionTileRows) {
    tile.rows = std::min(kAttentionTileRows, size - row);
    tile.queries = own.queries + row * depth_elements_;
    tile.maxima = running.maxima + row;
    tile.sums = running.sums + row * functions_.vector;
    tile.output = running.output + row * output_stride_;
    tile.limits = causal_limits(block, row, tile.rows, keys.keys, limits.data());
    if (tile.limits != nullptr &&
        *std::max_element(limits.data(), limits.data() + tile.rows) <= 0) {
      continue;
    }
    tile.mask_kind =
        mask_.point_at(block.mask, block.rows, row, tile.rows, keys.keys, own.masks, masks.data());
    const AttentionMaskSummary mask =
        mask_.summarize(tile.mask_kind, masks.data(), tile.rows, tile.count);
    if (mask.is_transparent) tile.mask_kind = AttentionMaskKind::kNone;
    if (mask.is_opaque) {
      if (is_weightless(block, tile, mask, row, keys)) continue;
      if (may_defer) {
        is_deferred = true;
        continue;
      }
    } else if (!may_defer) {
      continue;  // done in the first pass
    }
    provide_keys(block, own, keys, tile);
    multiplies_pairs() ? pair_functions_->run_tile(tile) : functions_.run_tile(tile);
  }
  return is_deferred;
}

/// The keys of the tile that each row sees; null when it is all of them.
const std::int64_t* AttentionKernel::causal_limits(const Block& block, std::int64_t first,
                                                   std::int64_t rows, KeyRange keys,
                                                   std::int64_t* limits) const {
  if (!is_causal_) return nullptr;
  bool sees_all = true;
  for (std::int64_t r = 0; r < rows; ++r) {
    limits[r] = std::min(block.rows.row(first + r) + 1 - keys.begin, keys.size());
    sees_all &= limits[r] == keys.size();
  }
  return sees_all ? nullptr : limits;
}

/// The largest |x| of some of a block's query rows.
float AttentionKernel::query_magnitude(const Block& block, std::int64_t first,
                                       std::int64_t rows) const {
  float largest = 0;
  std::int64_t count = 0;
  for (std::int64_t row = first; row < first + rows; row += count) {
    // Those of one head are at one distance.
    const std::int64_t left_of_head = block.rows.rows_a_head - row % block.rows.rows_a_head;
    count = std::min(first + rows - row, left_of_head);
    const float* query = block.query + block.rows.offset(shape_.query, row);
    largest = std::max(largest,
                       functions_.largest_magnitude(query, shape_.query.row, count, shape_.depth));
  }
  return largest;
}

/// Whether leaving these keys out changes nothing: their weights are zero, and zero times the
/// values is zero. PyTorch multiplies what a mask hides like anything else, so that infinity and
/// NaN there do reach the result.
bool AttentionKernel::is_weightless(const Block& block, const AttentionTile& tile,
                                    const AttentionMaskSummary& mask, std::int64_t first_row,
                                    KeyTile& keys) const {
  if (keys.key_magnitude < 0) {
    const std::int64_t count = keys.keys.size();
    keys.key_magnitude =
        functions_.largest_magnitude(block.key + keys.keys.begin * shape_.key.row, shape_.key.row,
                                     count, shape_.depth) +
        0 * functions_.largest_magnitude(block.value + keys.keys.begin * shape_.value.row,
                                         shape_.value.row, count, shape_.width);
  }
  // Rounding to bfloat16 makes numbers larger by less than this.
  const float rounding = multiplies_pairs() ? 1.01f : 1.0f;
  const float scores = query_magnitude(block, first_row, tile.rows) * keys.key_magnitude * scale_ *
                       static_cast<float>(shape_.depth) * rounding;
  if (!std::isfinite(scores)) return false;
  if (mask.largest == kMinusInfinity) return true;
  // Below -150, 2^x is zero even as a subnormal; what is compared was rounded.
  const float least = *std::min_element(tile.maxima, tile.maxima + tile.rows);
  const float most = (mask.largest + scores) * 1.44269504f;
  return most - least < -150 - 1e-6f * (std::abs(most) + std::abs(least));
}

void AttentionKernel::pack_keys(const float* key, const float* value, std::int64_t count,
                                const Buffers& own) const {
  if (multiplies_pairs()) {
    pair_functions_->copy_rows(key, shape_.key.row, count, shape_.depth, 1, own.rounded_keys,
                               depth_elements_);
    functions_.pack_keys(own.rounded_keys, depth_elements_, count, depth_elements_, own.keys);
    pair_functions_->pair_rows(value, shape_.value.row, count, shape_.width, own.values,
                               value_stride_);
    return;
  }
  if (!takes_keys_in_place_) {
    functions_.pack_keys(key, shape_.key.row, count, shape_.depth, own.keys);
  }
  if (!takes_values_in_place_) {
    functions_.copy_rows(value, shape_.value.row, count, shape_.width, 1, own.values,
                         value_stride_);
  }
}

void AttentionKernel::provide_keys(const Block& block, const Buffers& own, KeyTile& keys,
                                   AttentionTile& tile) const {
  const float* key = block.key + keys.keys.begin * shape_.key.row;
  const float* value = block.value + keys.keys.begin * shape_.value.row;
  if (!keys.is_packed) pack_keys(key, value, tile.count, own);
  keys.is_packed = true;
  tile.keys = takes_keys_in_place_ ? key : own.keys;
  tile.key_stride = takes_keys_in_place_ ? shape_.key.row : 0;
  tile.values = takes_values_in_place_ ? value : own.values;
  tile.value_stride = takes_values_in_place_ ? shape_.value.row : value_stride_;
}

void AttentionKernel::finish(const Block& block, const Running& running) const {
  const float nothing = zero_fully_masked_ || block.source_length == 0
                            ? 0.0f
                            : std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t row = 0; row < block.rows.size(); ++row) {
    float* to = block.output + block.rows.offset(shape_.output, row);
    // A row that sees a key at all has the weight 1 of its largest score in its sum.
    const bool is_finished =
        functions_.finish_row(running.output + row * output_stride_,
                              running.sums + row * functions_.vector, shape_.width, to);
    if (!is_finished) std::fill(to, to + shape_.width, nothing);
  }
}

void AttentionKernel::run(std::span<void* const> all, std::byte* scratch) const {
  if (shape_.width == 0 || shape_.length == 0) return;
  AttentionOperands operands{nullptr, all};
  if (is_packed_) operands = {static_cast<const std::int64_t*>(all[0]), all.subspan(1)};
  if (parts_ > 1) return run_in_parts(operands, scratch);
  parallel_for_dynamic(threads_, blocks(), 1, [&](std::int64_t begin, std::int64_t end) {
    const Buffers own = buffers(scratch);
    const Running here = running(scratch, thread_index());
    for (std::int64_t i = begin; i < end; ++i) {
      const Block work = block(operands, i);
      run_block(work, own, here);
      finish(work, here);
    }
  });
}

void AttentionKernel::run_in_parts(const AttentionOperands& operands, std::byte* scratch) const {
  parallel_for_dynamic(threads_, blocks() * parts_, 1, [&](std::int64_t begin, std::int64_t end) {
    const Buffers own = buffers(scratch);
    for (std::int64_t i = begin; i < end; ++i) {
      Block work = block(operands, i / parts_);
      work.keys = part(work.keys, i % parts_);
      run_block(work, own, running(scratch, i));
    }
  });
  parallel_for(threads_, blocks(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Block work = block(operands, i);
      const Running all = running(scratch, i * parts_);
      for (std::int64_t other = 1; other < parts_; ++other) {
        merge(all, running(scratch, i * parts_ + other), work.rows.size());
      }
      finish(work, all);
    }
  });
}

KeyRange AttentionKernel::part(KeyRange keys, std::int64_t index) const {
  const std::int64_t size = round_up(divide_up(keys.size(), parts_), key_tile_);
  const std::int64_t begin = std::min(keys.end, keys.begin + index * size);
  return {begin, std::min(keys.end, begin + size)};
}

/// Adds what other keys gave.
void AttentionKernel::merge(const Running& running, const Running& other, std::int64_t rows) const {
  const std::int64_t vector = functions_.vector;
  for (std::int64_t row = 0; row < rows; ++row) {
    const float maximum = std::max(running.maxima[row], other.maxima[row]);
    const float shift = maximum == kMinusInfinity ? 0 : maximum;
    const float factor = std::exp2(running.maxima[row] - shift);
    const float other_factor = std::exp2(other.maxima[row] - shift);
    const auto add = [&](float* to, const float* from, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = to[i] * factor + from[i] * other_factor;
    };
    add(running.output + row * output_stride_, other.output + row * output_stride_, shape_.width);
    add(running.sums + row * vector, other.sums + row * vector, vector);
    running.maxima[row] = maximum;
  }
}

}  // namespace

KernelPtr select_attention(const AttentionSpec& spec) {
  return std::make_unique<AttentionKernel>(spec);
}

}  // namespace unfuse::cpu
