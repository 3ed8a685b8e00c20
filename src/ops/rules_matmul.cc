#include <fmt/format.h>

#include <span>
#include <utility>

#include "ir/graph.h"
#include "ops/promotion.h"
#include "ops/rules.h"
#include "ops/shapes.h"

namespace unfuse::ops {
namespace {

void check_rank(const TensorType& type, std::int64_t rank, const char* what) {
  if (type.rank() != rank) {
    refuse(fmt::format("{} has {} dimensions, not {}", what, rank, type.rank()));
  }
}

void check_equal(const Dim& left, const Dim& right, const char* what) {
  if (equal(left, right) == Answer::kNo) {
    refuse(fmt::format("{} differ: {} and {}", what, left.to_string(), right.to_string()));
  }
}

void check_dtype(const TensorType& left, const TensorType& right) {
  if (left.dtype != right.dtype) {
    refuse(fmt::format("a product takes one dtype, not {} and {}", dtype_name(left.dtype),
                       dtype_name(right.dtype)));
  }
}

void check_bias(const Argument& bias, const TensorType& result) {
  if (bias.is_none()) return;
  const TensorType& type = tensor_type(bias);
  check_dtype(result, type);
  const std::vector<Dim> together = broadcast(result.sizes, type.sizes);
  if (together.size() != result.sizes.size()) refuse("the added tensor has too many dimensions");
  for (std::size_t i = 0; i < together.size(); ++i) {
    check_equal(together[i], result.sizes[i], "sizes of the product and of what is added");
  }
}

TensorType mm_of(const TensorType& left, const TensorType& right) {
  check_rank(left, 2, "the left factor");
  check_rank(right, 2, "the right factor");
  check_equal(left.sizes[1], right.sizes[0], "inner sizes");
  check_dtype(left, right);
  return contiguous_like(left, left.dtype, {left.sizes[0], right.sizes[1]});
}

TensorType bmm_of(const TensorType& left, const TensorType& right) {
  check_rank(left, 3, "the left factor");
  check_rank(right, 3, "the right factor");
  check_equal(left.sizes[0], right.sizes[0], "batch sizes");
  check_equal(left.sizes[2], right.sizes[1], "inner sizes");
  check_dtype(left, right);
  return contiguous_like(left, left.dtype, {left.sizes[0], left.sizes[1], right.sizes[2]});
}

std::vector<Dim> batch_of(const TensorType& type) {
  return {type.sizes.begin(), type.sizes.end() - 2};
}

/// What holds of every form: rank, dtype, head size and length fit, batch dimensions aside.
void check_attended(const TensorType& query, const TensorType& key, const TensorType& value) {
  if (query.rank() < 2 || key.rank() < 2 || value.rank() < 2) {
    refuse(
        fmt::format("attention takes query, key and value of two dimensions or more, not {}, {}, "
                    "{}",
                    query.rank(), key.rank(), value.rank()));
  }
  check_dtype(query, key);
  check_dtype(query, value);
  check_equal(query.sizes.back(), key.sizes.back(), "head sizes of query and key");
  check_equal(key.sizes.end()[-2], value.sizes.end()[-2], "lengths of key and value");
}

std::vector<Dim> with_last_two(std::vector<Dim> batch, const Dim& rows, const Dim& columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

/// The mask is added to the scores where they lie: it makes them no larger.
void check_mask(const Argument& mask, const std::vector<Dim>& scores) {
  if (mask.is_none()) return;
  const TensorType& type = tensor_type(mask);
  if (type.dtype != DType::kBool && !is_floating_point(type.dtype)) {
    refuse(fmt::format("attention takes a bool or floating mask, not {}", dtype_name(type.dtype)));
  }
  const std::vector<Dim> together = broadcast(scores, type.sizes);
  if (together.size() != scores.size()) refuse("the mask has more dimensions than the scores");
  for (std::size_t i = 0; i < together.size(); ++i) {
    check_equal(together[i], scores[i], "sizes of the scores and of the mask that they are under");
  }
}

/// Every head of key or value serves as many of query's.
void check_shared(const Dim& heads, const Dim& shared, const char* whose) {
  const auto of_query = heads.constant();
  const auto of_part = shared.constant();
  if (!of_query || !of_part) return;
  if (*of_part == 0 ? *of_query == 0 : *of_query % *of_part == 0) return;
  refuse(fmt::format("{} heads of query cannot share {} of {}", *of_query, *of_part, whose));
}

/// Batch dimensions and heads of key or value, heads as many as the query has where they are
/// shared.
std::vector<Dim> repeated_batch(const TensorType& query, const TensorType& part, bool shares_heads,
                                const char* whose) {
  std::vector<Dim> batch = batch_of(part);
  if (!shares_heads) return batch;
  if (query.rank() < 3 || part.rank() < 3) refuse("enable_gqa needs a dimension of heads");
  check_shared(query.sizes.end()[-3], batch.back(), whose);
  batch.back() = query.sizes.end()[-3];
  return batch;
}

}  // namespace

std::vector<Type> linear_type(const Arguments& arguments) {
  const TensorType& input = tensor_type(arguments[0]);
  const TensorType& weight = tensor_type(arguments[1]);
  if (input.rank() == 0) refuse("linear takes an input with dimensions");
  if (weight.rank() != 1) check_rank(weight, 2, "linear's weight");
  check_equal(input.sizes.back(), weight.sizes.back(), "input features of input and weight");
  check_dtype(input, weight);
  std::vector<Dim> sizes(input.sizes.begin(), input.sizes.end() - 1);
  if (weight.rank() == 2) sizes.push_back(weight.sizes[0]);
  TensorType result = contiguous_like(input, input.dtype, std::move(sizes));
  check_bias(arguments[2], result);
  return {result};
}

std::vector<Type> mm_type(const Arguments& arguments) {
  return {mm_of(tensor_type(arguments[0]), tensor_type(arguments[1]))};
}

std::vector<Type> bmm_type(const Arguments& arguments) {
  return {bmm_of(tensor_type(arguments[0]), tensor_type(arguments[1]))};
}

std::vector<Type> addmm_type(const Arguments& arguments) {
  TensorType result = mm_of(tensor_type(arguments[1]), tensor_type(arguments[2]));
  check_bias(arguments[0], result);
  return {result};
}

std::vector<Type> baddbmm_type(const Arguments& arguments) {
  TensorType result = bmm_of(tensor_type(arguments[1]), tensor_type(arguments[2]));
  check_bias(arguments[0], result);
  return {result};
}

std::vector<Type> matmul_type(const Arguments& arguments) {
  TensorType left = tensor_type(arguments[0]);
  TensorType right = tensor_type(arguments[1]);
  if (left.rank() == 0 || right.rank() == 0) refuse("matmul takes tensors with dimensions");
  check_dtype(left, right);
  const bool left_is_row = left.rank() == 1;
  const bool right_is_column = right.rank() == 1;
  if (left_is_row) left.sizes.insert(left.sizes.begin(), Dim(1));
  if (right_is_column) right.sizes.emplace_back(1);
  check_equal(left.sizes.back(), right.sizes.end()[-2], "inner sizes");
  std::vector<Dim> sizes = broadcast(batch_of(left), batch_of(right));
  if (!left_is_row) sizes.push_back(left.sizes.end()[-2]);
  if (!right_is_column) sizes.push_back(right.sizes.back());
  return {contiguous_like(left, left.dtype, std::move(sizes))};
}

std::vector<Type> dot_type(const Arguments& arguments) {
  const TensorType& left = tensor_type(arguments[0]);
  const TensorType& right = tensor_type(arguments[1]);
  check_rank(left, 1, "the left factor");
  check_rank(right, 1, "the right factor");
  check_equal(left.sizes[0], right.sizes[0], "sizes");
  check_dtype(left, right);
  return {contiguous_like(left, left.dtype, {})};
}

std::vector<Type> mv_type(const Arguments& arguments) {
  const TensorType& matrix = tensor_type(arguments[0]);
  const TensorType& vector = tensor_type(arguments[1]);
  check_rank(matrix, 2, "the matrix");
  check_rank(vector, 1, "the vector");
  check_equal(matrix.sizes[1], vector.sizes[0], "inner sizes");
  check_dtype(matrix, vector);
  return {contiguous_like(matrix, matrix.dtype, {matrix.sizes[0]})};
}

std::vector<Type> outer_type(const Arguments& arguments) {
  const TensorType& left = tensor_type(arguments[0]);
  const TensorType& right = tensor_type(arguments[1]);
  check_rank(left, 1, "the left factor");
  check_rank(right, 1, "the right factor");
  const DType dtype = result_dtype(std::span(arguments).first(2));
  return {contiguous_like(left, dtype, {left.sizes[0], right.sizes[0]})};
}

std::vector<Type> attention_type(const Arguments& arguments) {
  const TensorType& query = tensor_type(arguments[0]);
  const TensorType& key = tensor_type(arguments[1]);
  const TensorType& value = tensor_type(arguments[2]);
  check_attended(query, key, value);
  if (key.rank() != query.rank() || value.rank() != query.rank()) {
    refuse(fmt::format("attention takes query, key and value of one rank, not {}, {}, {}",
                       query.rank(), key.rank(), value.rank()));
  }
  for (std::size_t i = 0; i + 3 < query.sizes.size(); ++i) {
    check_equal(query.sizes[i], key.sizes[i], "batch sizes of query and key");
    check_equal(query.sizes[i], value.sizes[i], "batch sizes of query and value");
  }
  if (query.rank() > 2) {
    check_equal(key.sizes.end()[-3], value.sizes.end()[-3], "head counts of key and value");
    check_shared(query.sizes.end()[-3], key.sizes.end()[-3], "key");
  }
  check_mask(arguments[3],
             with_last_two(batch_of(query), query.sizes.end()[-2], key.sizes.end()[-2]));
  return {
      contiguous_like(query, query.dtype,
                      with_last_two(batch_of(query), query.sizes.end()[-2], value.sizes.back()))};
}

// (query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa): two products, whose
// batch dimensions broadcast as those of matmul do.
std::vector<Type> scaled_dot_product_attention_type(const Arguments& arguments) {
  const TensorType& query = tensor_type(arguments[0]);
  const TensorType& key = tensor_type(arguments[1]);
  const TensorType& value = tensor_type(arguments[2]);
  check_attended(query, key, value);
  const bool shares_heads = arguments[7].boolean();
  const Dim& rows = query.sizes.end()[-2];
  const std::vector<Dim> batch_of_scores =
      broadcast(batch_of(query), repeated_batch(query, key, shares_heads, "key"));
  check_mask(arguments[3], with_last_two(batch_of_scores, rows, key.sizes.end()[-2]));
  const std::vector<Dim> batch =
      broadcast(batch_of_scores, repeated_batch(query, value, shares_heads, "value"));
  return {contiguous_like(query, query.dtype, with_last_two(batch, rows, value.sizes.back()))};
}

}  // namespace unfuse::ops
