// Sizes that the model computes: polynomials over the sizes of its inputs.
#include "onnx/lowering/context.h"
#include "unfuse/error.h"

namespace unfuse::onnx {

void LoweringContext::find_sources() {
  const auto consider = [&](const Value* value, std::int64_t dimension, const Dim& expression) {
    const std::optional<LinearDim> linear = as_linear(expression);
    if (!linear) return;
    const auto [known, added] = sources_.try_emplace(linear->symbol);
    const bool is_plain = linear->coefficient == 1 && linear->offset == 0;
    if (added || is_plain) known->second = {value, dimension, *linear};
  };
  const auto& inputs = graph_->inputs();
  // Backwards, so that the first input that tells a size is the one that is asked.
  for (auto input = inputs.rbegin(); input != inputs.rend(); ++input) {
    if (input->kind != InputKind::kUser || input->value == nullptr) continue;
    if (const auto* integer = std::get_if<IntType>(&input->value->type())) {
      consider(input->value, -1, integer->value);
    } else if (input->value->is_tensor()) {
      for (std::int64_t i = input->value->rank() - 1; i >= 0; --i) {
        consider(input->value, i, input->value->size(i));
      }
    }
  }
}

Operand LoweringContext::symbol(const std::string& name) {
  const auto found = sources_.find(name);
  if (found == sources_.end()) {
    refuse("the size " + name + " cannot be told from the inputs' sizes");
  }
  const auto& [value, dimension, linear] = found->second;
  const Operand holder = operand(value);
  Operand result;
  if (dimension < 0) {
    result = unsqueeze(holder, {0});
  } else {
    result = emit("Shape", {holder}, DType::kInt64, {{"start", dimension}, {"end", dimension + 1}});
  }
  if (linear.offset != 0) result = emit("Sub", {result, integers({linear.offset})});
  if (linear.coefficient != 1) result = emit("Div", {result, integers({linear.coefficient})});
  return result;
}

Operand LoweringContext::compute(const Atom& atom) {
  if (atom.kind == Atom::Kind::kSymbol) return symbol(atom.text);
  const Operand left = size(atom.operands[0]);
  const Operand right = size(atom.operands[1]);
  switch (atom.kind) {
    case Atom::Kind::kMin:
      return emit("Min", {left, right});
    case Atom::Kind::kMax:
      return emit("Max", {left, right});
    case Atom::Kind::kMod:
      return emit("Mod", {left, right});
    default:
      break;
  }
  // ONNX divides towards zero. Mod takes the divisor's sign, so that without it the division is
  // exact.
  const bool is_positive = atom.operands[0].range(graph_->symbols).minimum >= 0 &&
                           atom.operands[1].range(graph_->symbols).minimum > 0;
  if (is_positive) return emit("Div", {left, right});
  return emit("Div", {emit("Sub", {left, emit("Mod", {left, right})}), right});
}

Operand LoweringContext::compute(const Dim& dim) {
  Operand sum = absent();
  for (const Dim::Term& term : dim.terms()) {
    Operand product = absent();
    for (const auto& factor : term.factors) {
      const auto known = sizes_.find(factor->text);
      const Operand next =
          known != sizes_.end() ? known->second : (sizes_[factor->text] = compute(*factor));
      product = product.id < 0 ? next : emit("Mul", {product, next});
    }
    if (term.coefficient != 1) product = emit("Mul", {product, integers({term.coefficient})});
    sum = sum.id < 0 ? product : emit("Add", {sum, product});
  }
  if (dim.constant_term() != 0) sum = emit("Add", {sum, integers({dim.constant_term()})});
  return sum;
}

Operand LoweringContext::size(const Dim& dim) {
  if (const auto fixed = dim.constant()) return integers({*fixed});
  const std::string text = dim.to_string();
  const auto known = sizes_.find(text);
  if (known != sizes_.end()) return known->second;
  const Operand computed = compute(dim);
  return sizes_[text] = computed;
}

Operand LoweringContext::sizes(const std::vector<Dim>& dims) {
  if (const auto fixed = constants(dims)) return integers(*fixed);
  std::vector<Operand> parts;
  for (const Dim& dim : dims) parts.push_back(size(dim));
  if (parts.size() == 1) return parts.front();
  return emit("Concat", parts, {{"axis", std::int64_t{0}}});
}

Operand LoweringContext::scalar_size(const Dim& dim) {
  if (const auto fixed = dim.constant()) return number(*fixed, DType::kInt64);
  return squeeze(size(dim), {0});
}

}  // namespace unfuse::onnx
