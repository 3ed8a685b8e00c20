#include "targets/cpu/kernels/attention.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>

#include "targets/cpu/kernels/attention_tile.h"
#include "targets/cpu/kernels/loop_nest.h"
#include "targets/cpu/parallel.h"

namespace unfuse::cpu {
namespace {

constexpr const char* kName = "attention";
/// Query rows whose scores are in the cache at one time.
constexpr std::int64_t kRowTile = 48;
/// Query rows that share one packing of the keys at most.
constexpr std::int64_t kMaximumRowBlock = 5 * kRowTile;

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Floats, rounded up to whole cache lines.
std::size_t float_bytes(std::int64_t count) {
  return static_cast<std::size_t>(round_up(count, 16)) * sizeof(float);
}

/// An operand's strides: of the batch and head dims as a nest, and of its rows.
struct Rows {
  Sizes outer_strides;  // batch..., head
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
};

class AttentionKernel final : public Kernel {
 public:
  explicit AttentionKernel(const AttentionSpec& spec);
  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(threads_) * thread_bytes_;
  }
  void run(std::span<void* const> operands, std::byte* scratch) const override;

 private:
  /// What a thread works in.
  struct Buffers {
    float *queries, *keys, *values, *scores, *additive, *output, *maxima, *sums;
  };
  /// The rows of one head that a thread takes at a time, and where they are.
  struct Block {
    const float *query, *key, *value;
    const std::byte* mask;
    float* output;
    std::int64_t first_row, rows;
  };

  void check(const AttentionSpec& spec) const;
  void choose_blocks();
  Buffers buffers(std::byte* scratch) const;
  Block block(std::span<void* const> operands, std::int64_t unit) const;
  void run_block(const Block& block, const Buffers& own) const;
  void run_keys(const Block& block, const Buffers& own, std::int64_t first_key,
                std::int64_t count) const;
  void prepare_mask(const Block& block, const Buffers& own, std::int64_t first_row,
                    std::int64_t rows, std::int64_t first_key, std::int64_t count,
                    AttentionTile& tile) const;
  void fill_additive(const std::byte* mask, std::int64_t count, float* to) const;
  void finish(const Block& block, const Buffers& own) const;

  AttentionFunctions functions_ = attention_functions();
  Sizes outer_sizes_;  // batch..., head
  Rows query_, key_, value_, mask_, output_;
  std::int64_t length_, source_length_, depth_, width_;
  float scale_;
  bool is_causal_, zero_fully_masked_, has_mask_, mask_is_bool_;
  int threads_;
  std::int64_t row_block_ = 0;
  std::int64_t key_tile_ = 0;
  std::int64_t score_stride_ = 0;
  std::int64_t output_stride_ = 0;
  std::int64_t heads_ = 1;  // batch dims included
  std::int64_t blocks_per_head_ = 0;
  std::size_t thread_bytes_ = 0;
};

/// Heads of dim -3; a rank of 2 is one head.
std::int64_t head_count(const OperandSpec& operand) {
  return operand.rank() == 2 ? 1 : operand.sizes[operand.sizes.size() - 3];
}

/// Keys and values of a group of heads are found by moving with stride 0 within the group, which
/// needs the head dim to be split in (group, head in group).
Rows rows_of(const OperandSpec& operand, std::int64_t heads_in_group, bool is_grouped) {
  Rows rows;
  const std::size_t rank = operand.sizes.size();
  rows.row_stride = operand.strides[rank - 2];
  rows.column_stride = operand.strides[rank - 1];
  if (rank == 2) {
    rows.outer_strides = {0, 0};
    return rows;
  }
  rows.outer_strides.assign(operand.strides.begin(), operand.strides.end() - 3);
  const std::int64_t head_stride = operand.strides[rank - 3];
  rows.outer_strides.push_back(is_grouped ? head_stride : head_stride * heads_in_group);
  rows.outer_strides.push_back(is_grouped ? 0 : head_stride);
  return rows;
}

AttentionKernel::AttentionKernel(const AttentionSpec& spec)
    : scale_(spec.scale),
      is_causal_(spec.is_causal),
      zero_fully_masked_(spec.zero_fully_masked),
      has_mask_(spec.mask.has_value()),
      mask_is_bool_(has_mask_ && spec.mask->dtype == DType::kBool),
      threads_(std::max(1, spec.threads)) {
  check(spec);
  const std::size_t rank = spec.query.sizes.size();
  length_ = spec.query.sizes[rank - 2];
  depth_ = spec.query.sizes[rank - 1];
  source_length_ = spec.key.sizes[rank - 2];
  width_ = spec.value.sizes[rank - 1];
  if (rank > 2) outer_sizes_.assign(spec.query.sizes.begin(), spec.query.sizes.end() - 3);
  const std::int64_t groups = head_count(spec.key);
  const std::int64_t heads_in_group = groups == 0 ? 1 : head_count(spec.query) / groups;
  outer_sizes_.push_back(groups);
  outer_sizes_.push_back(heads_in_group);
  require(outer_sizes_.size() <= kMaxLoopRank, kName, "too many batch dims");
  for (const std::int64_t size : outer_sizes_) heads_ *= size;
  query_ = rows_of(spec.query, heads_in_group, false);
  key_ = rows_of(spec.key, heads_in_group, true);
  value_ = rows_of(spec.value, heads_in_group, true);
  output_ = rows_of(spec.output, heads_in_group, false);
  if (has_mask_) mask_ = rows_of(*spec.mask, heads_in_group, false);
  choose_blocks();
}

void AttentionKernel::check(const AttentionSpec& spec) const {
  const std::size_t rank = spec.query.sizes.size();
  require(rank >= 2 && spec.key.sizes.size() == rank && spec.value.sizes.size() == rank &&
              spec.output.sizes.size() == rank,
          kName, "ranks do not fit");
  for (const OperandSpec* operand : {&spec.query, &spec.key, &spec.value, &spec.output}) {
    require(operand->dtype == DType::kFloat32, kName, "an operand that is not float32");
    require(
        operand->sizes[rank - 1] <= 1 || operand->strides[rank - 1] == 1 || operand->numel() == 0,
        kName, "an operand whose last stride is not 1");
  }
  const Sizes& query = spec.query.sizes;
  const Sizes& key = spec.key.sizes;
  const Sizes& value = spec.value.sizes;
  require(query[rank - 1] == key[rank - 1] && key[rank - 2] == value[rank - 2], kName,
          "sizes do not fit");
  const std::int64_t heads = head_count(spec.query);
  const std::int64_t groups = head_count(spec.key);
  require(groups == head_count(spec.value) && (groups == 0 ? heads == 0 : heads % groups == 0),
          kName, "key heads do not divide query heads");
  for (std::size_t dim = 0; dim + 3 < rank; ++dim) {
    require(query[dim] == key[dim] && query[dim] == value[dim], kName, "batch dims differ");
  }
  Sizes expected = query;
  expected[rank - 1] = value[rank - 1];
  require(spec.output.sizes == expected, kName, "output sizes do not fit");
  if (!spec.mask) return;
  expected[rank - 1] = key[rank - 2];
  require(spec.mask->sizes == expected, kName, "a mask that is not expanded to [..., H, L, S]");
  require(spec.mask->dtype == DType::kBool || spec.mask->dtype == DType::kFloat32, kName,
          "a mask that is neither bool nor float32");
}

void AttentionKernel::choose_blocks() {
  // Packed keys and values should stay in the second-level cache.
  const std::int64_t largest = std::max(depth_, width_);
  key_tile_ = largest <= 128 ? 256 : largest <= 256 ? 128 : 64;
  key_tile_ = std::min(key_tile_, round_up(std::max<std::int64_t>(1, source_length_), 64));
  // Few blocks pack the keys less often; many spread better over threads.
  row_block_ = kMaximumRowBlock;
  while (row_block_ > kRowTile &&
         heads_ * ((length_ + row_block_ - 1) / row_block_) < 4 * threads_) {
    row_block_ -= kRowTile;
  }
  blocks_per_head_ = (length_ + row_block_ - 1) / row_block_;
  const std::int64_t rows =
      round_up(std::min(row_block_, std::max<std::int64_t>(1, length_)), kAttentionRows);
  row_block_ = std::min(row_block_, round_up(rows, kRowTile));
  // One vector more than the tile: rows at distances of a power of two would share cache sets.
  score_stride_ = round_up(key_tile_, functions_.panel) + 16;
  output_stride_ = round_up(std::max<std::int64_t>(1, width_), functions_.vector);
  const std::int64_t padded = round_up(row_block_, kAttentionRows);
  thread_bytes_ = float_bytes(padded * depth_) +
                  float_bytes(round_up(key_tile_, functions_.panel) * depth_) +
                  float_bytes(key_tile_ * output_stride_) + float_bytes(kRowTile * score_stride_) +
                  (has_mask_ ? float_bytes(kRowTile * key_tile_) : 0) +
                  float_bytes(padded * output_stride_) + 2 * float_bytes(padded);
}

AttentionKernel::Buffers AttentionKernel::buffers(std::byte* scratch) const {
  const auto take = [&](std::int64_t count) {
    auto* taken = reinterpret_cast<float*>(scratch);
    scratch += float_bytes(count);
    return taken;
  };
  const std::int64_t padded = round_up(row_block_, kAttentionRows);
  Buffers own;
  own.queries = take(padded * depth_);
  own.keys = take(round_up(key_tile_, functions_.panel) * depth_);
  own.values = take(key_tile_ * output_stride_);
  own.scores = take(kRowTile * score_stride_);
  own.additive = has_mask_ ? take(kRowTile * key_tile_) : nullptr;
  own.output = take(padded * output_stride_);
  own.maxima = take(padded);
  own.sums = take(padded);
  return own;
}

AttentionKernel::Block AttentionKernel::block(std::span<void* const> operands,
                                              std::int64_t unit) const {
  const std::int64_t head = unit / blocks_per_head_;
  // The last rows of a causal head see the most keys: they go first, so that threads end together.
  const std::int64_t index = blocks_per_head_ - 1 - unit % blocks_per_head_;
  const auto offset = [&](const Rows& rows) {
    return RowWalker(outer_sizes_, rows.outer_strides, head).offset();
  };
  Block block;
  block.query = static_cast<const float*>(operands[0]) + offset(query_);
  block.key = static_cast<const float*>(operands[1]) + offset(key_);
  block.value = static_cast<const float*>(operands[2]) + offset(value_);
  block.mask = nullptr;
  if (has_mask_) {
    const std::int64_t mask_bytes = mask_is_bool_ ? 1 : 4;
    block.mask = static_cast<const std::byte*>(operands[3]) + offset(mask_) * mask_bytes;
  }
  block.output = static_cast<float*>(operands.back()) + offset(output_);
  block.first_row = index * row_block_;
  block.rows = std::min(row_block_, length_ - block.first_row);
  return block;
}

void AttentionKernel::run_block(const Block& block, const Buffers& own) const {
  const std::int64_t padded = round_up(block.rows, kAttentionRows);
  for (std::int64_t row = 0; row < padded; ++row) {
    float* to = own.queries + row * depth_;
    if (row < block.rows) {
      const float* from = block.query + (block.first_row + row) * query_.row_stride;
      std::memcpy(to, from, static_cast<std::size_t>(depth_) * sizeof(float));
    } else {
      std::fill(to, to + depth_, 0.0f);
    }
  }
  std::fill(own.output, own.output + padded * output_stride_, 0.0f);
  std::fill(own.maxima, own.maxima + padded, -std::numeric_limits<float>::infinity());
  std::fill(own.sums, own.sums + padded, 0.0f);
  // Keys past the last row are above the diagonal.
  const std::int64_t end =
      is_causal_ ? std::min(source_length_, block.first_row + block.rows) : source_length_;
  for (std::int64_t key = 0; key < end; key += key_tile_) {
    run_keys(block, own, key, std::min(key_tile_, end - key));
  }
  finish(block, own);
}

void AttentionKernel::run_keys(const Block& block, const Buffers& own, std::int64_t first_key,
                               std::int64_t count) const {
  functions_.pack_keys(block.key + first_key * key_.row_stride, key_.row_stride, count, depth_,
                       own.keys);
  functions_.pack_values(block.value + first_key * value_.row_stride, value_.row_stride, count,
                         width_, own.values);
  AttentionTile tile;
  tile.count = count;
  tile.depth = depth_;
  tile.width = width_;
  tile.keys = own.keys;
  tile.values = own.values;
  tile.scores = own.scores;
  tile.score_stride = score_stride_;
  tile.scale = scale_;
  tile.output_stride = output_stride_;
  for (std::int64_t row = 0; row < block.rows; row += kRowTile) {
    tile.rows = std::min(kRowTile, block.rows - row);
    if (is_causal_) {
      tile.causal_limit = block.first_row + row - first_key + 1;
      if (tile.causal_limit + tile.rows - 1 <= 0) continue;
    }
    tile.queries = own.queries + row * depth_;
    tile.maxima = own.maxima + row;
    tile.sums = own.sums + row;
    tile.output = own.output + row * output_stride_;
    if (has_mask_) {
      prepare_mask(block, own, block.first_row + row, tile.rows, first_key, count, tile);
    }
    functions_.run_tile(tile);
  }
}

/// Points the tile at what is to be added to its scores: the mask itself, or a copy of it.
void AttentionKernel::prepare_mask(const Block& block, const Buffers& own, std::int64_t first_row,
                                   std::int64_t rows, std::int64_t first_key, std::int64_t count,
                                   AttentionTile& tile) const {
  const std::int64_t element_bytes = mask_is_bool_ ? 1 : 4;
  const std::byte* mask =
      block.mask + (first_row * mask_.row_stride + first_key * mask_.column_stride) * element_bytes;
  if (!mask_is_bool_ && mask_.column_stride == 1) {
    tile.additive = reinterpret_cast<const float*>(mask);
    tile.additive_stride = mask_.row_stride;
    return;
  }
  const bool rows_are_equal = mask_.row_stride == 0;
  tile.additive = own.additive;
  tile.additive_stride = rows_are_equal ? 0 : key_tile_;
  for (std::int64_t row = 0; row < (rows_are_equal ? 1 : rows); ++row) {
    fill_additive(mask + row * mask_.row_stride * element_bytes, count,
                  own.additive + row * key_tile_);
  }
}

void AttentionKernel::fill_additive(const std::byte* mask, std::int64_t count, float* to) const {
  const std::int64_t stride = mask_.column_stride;
  if (!mask_is_bool_) {
    const auto* values = reinterpret_cast<const float*>(mask);
    for (std::int64_t i = 0; i < count; ++i) to[i] = values[i * stride];
    return;
  }
  const float lowest = -std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < count; ++i) to[i] = mask[i * stride] != std::byte{0} ? 0.0f : lowest;
}

void AttentionKernel::finish(const Block& block, const Buffers& own) const {
  const float nothing =
      zero_fully_masked_ || source_length_ == 0 ? 0.0f : std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t row = 0; row < block.rows; ++row) {
    const float* from = own.output + row * output_stride_;
    float* to = block.output + (block.first_row + row) * output_.row_stride;
    // A row that sees a key at all has the weight exp(0) of its largest score in its sum.
    if (own.sums[row] == 0.0f) {
      std::fill(to, to + width_, nothing);
      continue;
    }
    const float sum = own.sums[row];
    for (std::int64_t i = 0; i < width_; ++i) to[i] = from[i] / sum;
  }
}

void AttentionKernel::run(std::span<void* const> operands, std::byte* scratch) const {
  const std::int64_t units = width_ == 0 ? 0 : heads_ * blocks_per_head_;
  std::atomic<std::int64_t> next = 0;
  const std::int64_t workers = std::min<std::int64_t>(threads_, units);
  parallel_for(threads_, workers, 1, [&](std::int64_t, std::int64_t) {
    const Buffers own = buffers(scratch + static_cast<std::size_t>(thread_index()) * thread_bytes_);
    for (std::int64_t unit = next++; unit < units; unit = next++) {
      run_block(block(operands, unit), own);
    }
  });
}

}  // namespace

KernelPtr select_attention(const AttentionSpec& spec) {
  return std::make_unique<AttentionKernel>(spec);
}

}  // namespace unfuse::cpu
