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

/// Attention's result: query's sizes with the value's head size.
TensorType attended(const Arguments& arguments) {
  const TensorType& query = tensor_type(arguments[0]);
  const TensorType& key = tensor_type(arguments[1]);
  const TensorType& value = tensor_type(arguments[2]);
  if (query.rank() < 2 || key.rank() != query.rank() || value.rank() != query.rank()) {
    refuse(
        fmt::format("attention takes query, key and value of one rank, 2 or more, not {}, {}, {}",
                    query.rank(), key.rank(), value.rank()));
  }
  check_dtype(query, key);
  check_dtype(query, value);
  check_equal(query.sizes.back(), key.sizes.back(), "head sizes of query and key");
  check_equal(key.sizes.end()[-2], value.sizes.end()[-2], "lengths of key and value");
  std::vector<Dim> sizes = query.sizes;
  sizes.back() = value.sizes.back();
  return contiguous_like(query, query.dtype, std::move(sizes));
}

void check_mask(const Argument& mask, const TensorType& query, const TensorType& key) {
  if (mask.is_none()) return;
  const TensorType& type = tensor_type(mask);
  if (type.dtype != DType::kBool && !is_floating_point(type.dtype)) {
    refuse(fmt::format("attention takes a bool or floating mask, not {}", dtype_name(type.dtype)));
  }
  std::vector<Dim> scores = query.sizes;
  scores.back() = key.sizes.end()[-2];
  if (broadcast(scores, type.sizes).size() != scores.size()) {
    refuse("the mask has more dimensions than the scores");
  }
}

/// Every head of key and value serves as many of query's.
void check_heads(const TensorType& query, const TensorType& key, const TensorType& value) {
  if (query.rank() < 3) return;
  for (std::size_t i = 0; i + 3 < query.sizes.size(); ++i) {
    check_equal(query.sizes[i], key.sizes[i], "batch sizes of query and key");
    check_equal(query.sizes[i], value.sizes[i], "batch sizes of query and value");
  }
  const Dim& heads = query.sizes.end()[-3];
  check_equal(key.sizes.end()[-3], value.sizes.end()[-3], "head counts of key and value");
  const auto of_query = heads.constant();
  const auto of_key = key.sizes.end()[-3].constant();
  if (of_query && of_key && (*of_key == 0 ? *of_query != 0 : *of_query % *of_key != 0)) {
    refuse(fmt::format("{} heads of query cannot share {} of key", *of_query, *of_key));
  }
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
  TensorType result = attended(arguments);
  const TensorType& query = tensor_type(arguments[0]);
  const TensorType& key = tensor_type(arguments[1]);
  check_heads(query, key, tensor_type(arguments[2]));
  check_mask(arguments[3], query, key);
  return {result};
}

// (query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
std::vector<Type> scaled_dot_product_attention_type(const Arguments& arguments) {
  const bool grouped = arguments[7].boolean();
  if (grouped) return attention_type(arguments);
  TensorType result = attended(arguments);
  const std::vector<Dim> batch = broadcast(
      batch_of(result),
      broadcast(batch_of(tensor_type(arguments[1])), batch_of(tensor_type(arguments[2]))));
  std::vector<Dim> sizes = batch;
  sizes.insert(sizes.end(), result.sizes.end() - 2, result.sizes.end());
  return {contiguous_like(result, result.dtype, std::move(sizes))};
}

}  // namespace unfuse::ops
