#include "passes/recognize_attention.h"

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "passes/canonical.h"
#include "passes/decompose/attention_mask.h"
#include "passes/decompose/dot_product_attention.h"
#include "passes/decompose/spelled_attention.h"
#include "passes/rewrite.h"

namespace unfuse::passes {
namespace {

// --- Matching: a value is walked through against the flow, from the product with the values.

// What is done to the scores: one of the three.
struct Mask {
  Value* added = nullptr;
  Value* masked = nullptr;    // true where `fill` stands in place of the score
  Value* attended = nullptr;  // false there
  double fill = 0;
};

struct Match {
  Value* query = nullptr;
  Value* key = nullptr;             // [..., S, D], or null and then
  Value* transposed_key = nullptr;  // [..., D, S]
  Value* value = nullptr;
  std::vector<Mask> masks;
  double scale = 1;
  bool safe = false;
};

const Node* made_by(const Value* value, std::string_view op) {
  return value->produced_by(op) ? value->producer() : nullptr;
}

// Nobody but the pattern reads it.
bool is_private(const Value* value) { return value->use_count() == 1; }

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
constexpr double kLowest = std::numeric_limits<float>::lowest();

// -inf, or a number that models take for it: so low that its exponential is 0 next to any score. In
// a row of nothing else it is not the same: there every key counts alike.
bool hides(const Argument& fill, DType dtype) {
  if (!fill.is_constant_scalar()) return false;
  constexpr double kLowestOfFloat16 = -65504;
  return fill.number() <= -1e9 || (dtype == DType::kFloat16 && fill.number() == kLowestOfFloat16);
}

// Takes a factor off: returns what is scaled, and multiplies `scale` by the factor.
Value* without_scale(Value* value, double& scale) {
  while (const Node* node = value->producer()) {
    const bool product = node->is("aten.mul.Scalar");
    if (!product && !node->is("aten.div.Scalar")) break;
    if (!node->argument(1).is_constant_scalar()) break;
    if (node->input(0)->dtype() != value->dtype()) break;
    const double factor = node->argument(1).number();
    scale = product ? scale * factor : scale / factor;
    value = node->input(0);
  }
  return value;
}

// A permute that swaps the last two dimensions and keeps the others.
bool is_transpose(const Node& node) {
  if (!node.is("aten.permute.default")) return false;
  const std::int64_t rank = node.result()->rank();
  return rank >= 2 && node.argument(1).integers() == swapped_order(rank, -1, -2);
}

bool match_scores(Value* scores, Match& match) {
  if (!is_private(scores)) return false;
  const double outer = match.scale;
  double scale = outer;
  const Node* product = made_by(without_scale(scores, scale), "aten.matmul.default");
  if (product == nullptr || !is_private(product->result())) return false;
  match.query = without_scale(product->input(0), scale);
  Value* key = without_scale(product->input(1), scale);
  const bool transposed = key->producer() != nullptr && is_transpose(*key->producer());
  if (transposed) {
    match.key = without_scale(key->producer()->input(0), scale);
  } else {
    match.transposed_key = key;
  }
  match.scale = scale;
  return true;
}

// Scores with a number in place of some of them.
std::optional<std::pair<Mask, Value*>> match_fill(const Node& node) {
  Mask mask;
  Value* scores = nullptr;
  const Argument* fill = nullptr;
  if (node.is("aten.masked_fill.Scalar")) {
    scores = node.input(0);
    mask.masked = node.input(1);
    fill = &node.argument(2);
  } else if (node.is("aten.where.ScalarOther")) {
    mask.attended = node.input(0);
    scores = node.input(1);
    fill = &node.argument(2);
  } else if (node.is("aten.where.ScalarSelf")) {
    mask.masked = node.input(0);
    fill = &node.argument(1);
    scores = node.input(2);
  } else {
    return std::nullopt;
  }
  if (!hides(*fill, scores->dtype())) return std::nullopt;
  mask.fill = fill->number();
  return std::pair(mask, scores);
}

bool match_masked_scores(Value* scores, Match& match);

// scores + mask, or mask + scores: the product has the sizes of the sum, the mask is what
// broadcasts.
bool match_sum(const Node& node, Match& match) {
  const Argument& alpha = node.argument("alpha");
  if (!alpha.is_constant_scalar() || alpha.number() != 1) return false;
  for (const int side : {0, 1}) {
    if (!node.argument(side).is_value() || !node.argument(1 - side).is_value()) return false;
    if (node.input(side)->sizes() != node.result()->sizes()) continue;
    Match attempt = match;
    attempt.masks.push_back({.added = node.input(1 - side)});
    if (!match_masked_scores(node.input(side), attempt)) continue;
    match = std::move(attempt);
    return true;
  }
  return false;
}

// Any number of masks over each other, none included.
bool match_masked_scores(Value* scores, Match& match) {
  constexpr std::size_t kMostMasks = 4;  // models have two
  const Node* node = scores->producer();
  if (node == nullptr || !is_private(scores)) return false;
  if (match.masks.size() < kMostMasks) {
    if (node->is("aten.add.Tensor")) return match_sum(*node, match);
    if (const auto filled = match_fill(*node)) {
      match.masks.push_back(filled->first);
      return match_masked_scores(filled->second, match);
    }
  }
  return match_scores(scores, match);
}

// Whether any score or mask that is added to the number leaves it as it is, in float32.
bool swallows_sums(double fill) { return fill <= -1e37; }

// A finite fill becomes a number that is added and swallows the score. Beside scores and -inf that
// is as good as the fill itself; in a row of nothing but fills and sums their differences count, so
// there it has to be the fill itself, or all of them have to be one.
bool can_be_joined(const std::vector<Mask>& masks) {
  std::optional<double> finite;
  bool has_sum = false;
  for (const Mask& mask : masks) {
    has_sum |= mask.added != nullptr;
    if (mask.added != nullptr || mask.fill == kMinusInfinity) continue;
    if (finite && *finite != mask.fill) return false;
    finite = mask.fill;
  }
  return !finite || !has_sum || swallows_sums(*finite);
}

bool over_last_dimension(const Node& softmax) {
  const std::int64_t rank = softmax.input(0)->rank();
  return wrap_dimension(softmax.argument("dim").integer(), rank) == rank - 1;
}

// A softmax may be taken in float32 of 16-bit scores: attention does so anyway.
bool keeps_precision(const Node& softmax) {
  const Argument& dtype = softmax.argument("dtype");
  return dtype.is_none() || dtype.dtype() == DType::kFloat32 ||
         dtype.dtype() == softmax.input(0)->dtype();
}

std::optional<Match> match_attention(const Node& product, AttentionSpelling spelling) {
  Match match;
  match.value = product.input(1);
  Value* weights = product.input(0);
  if (!is_private(weights)) return std::nullopt;
  if (const Node* narrowed = made_by(weights, "aten._to_copy.default")) {
    weights = narrowed->input(0);
    if (weights->dtype() != DType::kFloat32 || !is_private(weights)) return std::nullopt;
  }
  const Node* softmax = weights->producer();
  if (softmax == nullptr) return std::nullopt;
  match.safe = softmax->is("aten._safe_softmax.default");
  const bool plain = softmax->is("aten.softmax.int") && spelling == AttentionSpelling::kAnySoftmax;
  if (!match.safe && !plain) return std::nullopt;
  if (!over_last_dimension(*softmax) || !keeps_precision(*softmax)) return std::nullopt;
  Value* scores = softmax->input(0);
  if (const Node* widened = made_by(scores, "aten._to_copy.default")) {
    if (scores->dtype() != DType::kFloat32 || !is_private(scores)) return std::nullopt;
    scores = widened->input(0);
  }
  if (!match_masked_scores(scores, match) || !can_be_joined(match.masks)) return std::nullopt;
  return match;
}

bool is_supported(const Match& match, const Value* result) {
  const DType dtype = result->dtype();
  const bool narrow =
      dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  const Value* key = match.key != nullptr ? match.key : match.transposed_key;
  return narrow && match.query->dtype() == dtype && key->dtype() == dtype &&
         match.value->dtype() == dtype && match.query->rank() >= 2 && key->rank() >= 2 &&
         match.value->rank() >= 2;
}

// --- Rewriting

// All masks as one, joined from the innermost to the outermost: a fill replaces what lies under it,
// a sum is added to it. Fills of -inf alone stay a mask of bools.
class JoinedMask {
 public:
  explicit JoinedMask(Builder& builder) : builder_(builder) {}

  void join(const Mask& mask) {
    if (mask.added != nullptr) return add(mask.added);
    Value* attended = mask.attended != nullptr ? mask.attended : negate(builder_, mask.masked);
    if (mask.fill == kMinusInfinity && added_ == nullptr) {
      attended_ = attended_ == nullptr
                      ? attended
                      : call(builder_, "aten.logical_and.default", {attended_, attended});
      return;
    }
    add_attended();
    const bool as_it_is = mask.fill == kMinusInfinity || swallows_sums(mask.fill);
    added_ = filled(attended, as_it_is ? mask.fill : kLowest);
  }

  Value* mask() const { return attended_ != nullptr ? attended_ : added_; }

 private:
  void add(Value* mask) {
    add_attended();
    // In 16 bits the lowest number of float32 would be -inf.
    Value* wide = convert(builder_, mask, DType::kFloat32);
    added_ = added_ == nullptr ? wide : call(builder_, "aten.add.Tensor", {added_, wide});
  }

  void add_attended() {
    if (attended_ != nullptr) added_ = filled(attended_, kMinusInfinity);
    attended_ = nullptr;
  }

  Value* filled(Value* attended, double fill) {
    if (added_ == nullptr) return call(builder_, "aten.where.Scalar", {attended, 0.0, fill});
    return call(builder_, "aten.where.ScalarOther", {attended, added_, fill});
  }

  Builder& builder_;
  Value* added_ = nullptr;
  Value* attended_ = nullptr;
};

Value* mask_of(Builder& builder, const Match& match) {
  JoinedMask joined(builder);
  for (auto mask = match.masks.rbegin(); mask != match.masks.rend(); ++mask) joined.join(*mask);
  return joined.mask();
}

Value* build(const DecomposeContext& context, const Match& match) {
  Builder& builder = context.builder;
  DotProductAttention attention;
  attention.query = match.query;
  attention.key =
      match.key != nullptr ? match.key : transpose(builder, match.transposed_key, -1, -2);
  attention.value = match.value;
  attention.mask = mask_of(builder, match);
  attention.scale = match.scale;
  attention.zero_fully_masked =
      match.safe || context.options.fully_masked_rows == FullyMaskedRows::kZero;
  return dot_product_attention(context, attention, context.node.result()->sizes());
}

}  // namespace

void recognize_attention(Graph& graph, AttentionSpelling spelling, const CompileOptions& options) {
  for (Node* node : graph.nodes()) {
    if (!node->is("aten.matmul.default")) continue;
    const std::optional<Match> match = match_attention(*node, spelling);
    if (!match || !is_supported(*match, node->result())) continue;
    Builder builder(graph, node);
    NodeNotes unused;
    Value* attention = build(DecomposeContext{builder, options, unused, *node}, *match);
    replace_by_equal(graph, node->result(), attention, node);
    graph.erase(node);
  }
}

}  // namespace unfuse::passes
