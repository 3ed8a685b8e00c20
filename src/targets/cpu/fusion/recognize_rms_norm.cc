// RMS norm as models spell it out:
//
//   mul(%x, rsqrt(add(mean(mul(%x, %x)), eps)))       and, around it, mul(%weight, ...)
//
// becomes aten.rms_norm: one pass over memory in place of a reduction and two pointwise passes.
// Runs on widened graphs, in which a model's conversions to float32 change nothing and are seen
// through; where it rounds to 16 bits before it multiplies by the weight, that product stays by
// itself.
#include <optional>
#include <vector>

#include "targets/cpu/fusion/fusion.h"
#include "targets/cpu/fusion/matching.h"

namespace unfuse::cpu {
namespace {

struct RmsNorm {
  Value* input = nullptr;
  Value* weight = nullptr;
  double eps = 0;
  Node* last = nullptr;  ///< gives the result
};

Value* through_conversions(Value* value) {
  while (value->produced_by("aten._to_copy.default") &&
         value->producer()->input(0)->dtype() == value->dtype()) {
    value = value->producer()->input(0);
  }
  return value;
}

/// What a node of this op made of its first operand, if only the pattern reads it.
const Node* private_step(const Value* value, std::string_view op) {
  return value->produced_by(op) && value->use_count() == 1 ? value->producer() : nullptr;
}

/// x of rsqrt(mean(x * x over the last dimension) + eps).
Value* match_inverse_root(const Value* value, double& eps) {
  const Node* root = private_step(value, "aten.rsqrt.default");
  if (root == nullptr) return nullptr;
  const Node* sum = private_step(root->input(0), "aten.add.Scalar");
  if (sum == nullptr || !sum->argument(1).is_constant_scalar()) return nullptr;
  if (!sum->argument("alpha").is_constant_scalar() || sum->argument("alpha").number() != 1) {
    return nullptr;
  }
  const Node* mean = private_step(sum->input(0), "aten.mean.dim");
  if (mean == nullptr || mean->argument("dim").is_none()) return nullptr;
  const Node* square = private_step(mean->input(0), "aten.mul.Tensor");
  if (square == nullptr || square->input(0) != square->input(1)) return nullptr;
  const std::int64_t last = square->result()->rank() - 1;
  if (mean->argument("dim").integers() != std::vector<std::int64_t>{last} ||
      !mean->argument("keepdim").boolean()) {
    return nullptr;
  }
  eps = sum->argument(1).number();
  return through_conversions(square->input(0));
}

std::optional<RmsNorm> match_norm(Node* product) {
  if (!product->is("aten.mul.Tensor") || !is_float32(product->result())) return std::nullopt;
  for (const int side : {0, 1}) {
    RmsNorm norm;
    norm.input = through_conversions(product->input(side));
    norm.last = product;
    const Value* input = match_inverse_root(product->input(1 - side), norm.eps);
    if (input == norm.input && is_float32(input)) return norm;
  }
  return std::nullopt;
}

/// A weight for each element of a row that the norm is multiplied by, and nothing else.
void match_weight(RmsNorm& norm) {
  Node* reader = only_reader(norm.last->result());
  if (reader == nullptr || !reader->is("aten.mul.Tensor")) return;
  Value* other = reader->input(reader->input(0) == norm.last->result() ? 1 : 0);
  if (!is_float32(other) || other->rank() != 1 || other->size(0) != norm.input->size(-1)) return;
  norm.weight = other;
  norm.last = reader;
}

}  // namespace

// Backwards: what is replaced stands at the node at hand or behind it.
void recognize_rms_norm(Graph& graph) {
  Node* before = nullptr;
  for (Node* node = graph.last_node(); node != nullptr; node = before) {
    before = node->previous();
    std::optional<RmsNorm> norm = match_norm(node);
    if (!norm) continue;
    match_weight(*norm);
    replace_by_node(graph, norm->last, "aten.rms_norm.default",
                    {norm->input, Argument::Ints{norm->input->size(-1)}, norm->weight, norm->eps},
                    norm->last->origin());
  }
}

}  // namespace unfuse::cpu
