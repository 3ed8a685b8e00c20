#include "kernels/attention_operands.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace unfuse::cpu::testing {

AttentionOperands make_attention(const AttentionCase& test, int threads, unsigned seed) {
  const auto with = [&](std::int64_t heads, std::int64_t rows, std::int64_t columns) {
    Sizes sizes = test.batch;
    sizes.insert(sizes.end(), {heads, rows, columns});
    return sizes;
  };
  std::mt19937 random(seed);
  AttentionOperands made = {
      Strided(placed(DType::kFloat32, with(test.heads, test.length, test.depth), test.query)),
      Strided(placed(DType::kFloat32, with(test.groups, test.source_length, test.depth), test.key)),
      Strided(
          placed(DType::kFloat32, with(test.groups, test.source_length, test.width), test.value)),
      std::nullopt,
      Strided(placed(DType::kFloat32, with(test.heads, test.length, test.width), test.output)),
      {}};
  made.query.fill_random(random);
  made.key.fill_random(random);
  made.value.fill_random(random);
  if (test.mask_dtype) {
    made.mask.emplace(
        placed(*test.mask_dtype, with(test.heads, test.length, test.source_length), test.mask));
    std::uniform_real_distribution<double> uniform(-2, 2);
    made.mask->fill([&](const Index&) {
      const double value = uniform(random);
      if (*test.mask_dtype == DType::kBool) return value > -1 ? 1.0 : 0.0;
      return value > 1 ? -kInf : value;
    });
  }
  made.spec.query = made.query.spec();
  made.spec.key = made.key.spec();
  made.spec.value = made.value.spec();
  if (made.mask) made.spec.mask = made.mask->spec();
  made.spec.output = made.output.spec();
  made.spec.is_causal = test.is_causal;
  made.spec.scale = 1 / std::sqrt(static_cast<float>(std::max<std::int64_t>(1, test.depth)));
  made.spec.threads = threads;
  return made;
}

void run_attention(AttentionOperands& made) {
  std::vector<Strided*> operands = {&made.query, &made.key, &made.value};
  if (made.mask) operands.push_back(&*made.mask);
  operands.push_back(&made.output);
  run_kernel(*select_attention(made.spec), operands);
}

namespace {

/// The definition, in float64: the weights of one row, whose last index is ignored; empty when the
/// row's result is `special`.
std::vector<double> exact_weights(const AttentionOperands& made, const Index& row,
                                  double& special) {
  const AttentionSpec& spec = made.spec;
  const std::size_t rank = row.size();
  const std::int64_t length = spec.key.sizes[rank - 2];
  Index query = row;
  Index key = row;
  Index mask = row;
  key[rank - 3] /= spec.query.sizes[rank - 3] / spec.key.sizes[rank - 3];
  std::vector<double> scores;
  double maximum = -kInf;
  bool has_nan = false;
  for (std::int64_t s = 0; s < length; ++s) {
    key[rank - 2] = mask[rank - 1] = s;
    double score = 0;
    for (std::int64_t d = 0; d < spec.query.sizes[rank - 1]; ++d) {
      query[rank - 1] = key[rank - 1] = d;
      score += made.query.get(query) * made.key.get(key);
    }
    score *= static_cast<double>(spec.scale);
    if (made.mask && spec.mask->dtype == DType::kBool) {
      score += made.mask->get(mask) != 0 ? 0 : -kInf;
    } else if (made.mask) {
      score += made.mask->get(mask);
    }
    if (spec.is_causal && s > row[rank - 2]) score = -kInf;
    scores.push_back(score);
    has_nan = has_nan || std::isnan(score);
    maximum = std::max(maximum, score);
  }
  special = spec.zero_fully_masked || length == 0 ? 0 : kNaN;
  if (has_nan || maximum == kInf) special = kNaN;
  if (has_nan || std::isinf(maximum)) return {};
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - maximum);
  for (double& score : scores) score /= sum;
  return scores;
}

}  // namespace

double AttentionReference::operator()(const Index& at) {
  Index row = at;
  row.back() = 0;
  if (row != row_) {
    row_ = row;
    weights_ = exact_weights(made_, row, special_);
  }
  if (weights_.empty()) return special_;
  Index value = at;
  const std::size_t rank = at.size();
  value[rank - 3] /= made_.spec.query.sizes[rank - 3] / made_.spec.key.sizes[rank - 3];
  double result = 0;
  for (std::size_t s = 0; s < weights_.size(); ++s) {
    value[rank - 2] = static_cast<std::int64_t>(s);
    result += weights_[s] * made_.value.get(value);
  }
  return result;
}

void expect_attention(const AttentionOperands& made, double tolerance) {
  AttentionReference reference(made);
  expect_close(
      made.output, [&](const Index& at) { return reference(at); }, tolerance);
}

}  // namespace unfuse::cpu::testing
