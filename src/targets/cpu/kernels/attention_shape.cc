#include "targets/cpu/kernels/attention_shape.h"

#include "targets/cpu/kernels/loop_nest.h"

namespace unfuse::cpu {
namespace {

constexpr const char* kName = "attention";

/// Heads of dim -3; a rank of 2 is one head.
std::int64_t head_count(const OperandSpec& operand) {
  return operand.rank() == 2 ? 1 : operand.sizes[operand.sizes.size() - 3];
}

void check_operands(const AttentionSpec& spec) {
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
}

void check_sizes(const AttentionSpec& spec) {
  const Sizes& query = spec.query.sizes;
  const Sizes& key = spec.key.sizes;
  const Sizes& value = spec.value.sizes;
  const std::size_t rank = query.size();
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

void check_packed(const AttentionSpec& spec) {
  if (!spec.is_packed) return;
  const Sizes& sizes = spec.query.sizes;
  require(sizes.size() == 4 && spec.key.sizes[2] == sizes[2], kName, "packed rows of other sizes");
  for (const OperandSpec* operand : {&spec.query, &spec.key, &spec.value, &spec.output}) {
    const bool is_even =
        sizes[0] <= 1 || sizes[2] <= 1 || operand->strides[0] == sizes[2] * operand->strides[2];
    require(is_even, kName, "packed rows at uneven distances");
  }
  if (!spec.mask) return;
  const Sizes& mask = spec.mask->strides;
  require((mask[1] == 0 || sizes[1] == 1) && (mask[2] == 0 || sizes[2] == 1), kName,
          "packed rows with masks of their own");
}

/// The head dim is split in (group, head in group).
AttentionStrides strides_of(const OperandSpec& operand, std::int64_t heads_in_group,
                            bool has_one_head_a_group) {
  AttentionStrides strides;
  const std::size_t rank = operand.sizes.size();
  strides.row = operand.strides[rank - 2];
  strides.column = operand.strides[rank - 1];
  if (rank == 2) {
    strides.group = {0};
    return strides;
  }
  strides.group.assign(operand.strides.begin(), operand.strides.end() - 3);
  const std::int64_t head = operand.strides[rank - 3];
  strides.group.push_back(has_one_head_a_group ? head : head * heads_in_group);
  strides.head = has_one_head_a_group ? 0 : head;
  return strides;
}

}  // namespace

AttentionShape::AttentionShape(const AttentionSpec& spec) {
  check_operands(spec);
  check_sizes(spec);
  check_packed(spec);
  const std::size_t rank = spec.query.sizes.size();
  length = spec.query.sizes[rank - 2];
  depth = spec.query.sizes[rank - 1];
  source_length = spec.key.sizes[rank - 2];
  width = spec.value.sizes[rank - 1];
  if (rank > 2) group_sizes.assign(spec.query.sizes.begin(), spec.query.sizes.end() - 3);
  const std::int64_t key_heads = head_count(spec.key);
  if (key_heads > 0) heads_in_group = head_count(spec.query) / key_heads;
  group_sizes.push_back(key_heads);
  require(group_sizes.size() <= kMaxLoopRank, kName, "too many batch dims");
  for (const std::int64_t size : group_sizes) groups *= size;
  query = strides_of(spec.query, heads_in_group, false);
  key = strides_of(spec.key, heads_in_group, true);
  value = strides_of(spec.value, heads_in_group, true);
  output = strides_of(spec.output, heads_in_group, false);
  if (spec.mask) mask = strides_of(*spec.mask, heads_in_group, false);
}

std::int64_t AttentionShape::offset(const AttentionStrides& strides, std::int64_t group) const {
  return RowWalker(group_sizes, strides.group, group).offset();
}

}  // namespace unfuse::cpu
