// einsum of any number of tensors: two at a time, from the left, each a permute, a matmul over the
// labels that both have and nobody needs any more, and a permute back. A label that only one of two
// has and nobody needs is summed first. Diagonals (a label twice in one tensor) and sizes that
// broadcast are left as they came.
#include <algorithm>
#include <map>
#include <string>

#include "passes/normalize/rewrites.h"

namespace unfuse::passes {
namespace {

struct Term {
  Value* value = nullptr;
  std::string labels;  ///< one a dimension; those of an ellipsis are '\1', '\2', ...
};

bool contains(const std::string& labels, char label) {
  return labels.find(label) != std::string::npos;
}

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

// The labels that an ellipsis stands for are counted from the right, so that they broadcast as
// sizes do.
bool expand_ellipsis(std::string& labels, std::int64_t rank, std::int64_t& most) {
  const auto dots = labels.find("...");
  if (dots == std::string::npos) return static_cast<std::int64_t>(labels.size()) == rank;
  const std::int64_t count = rank - (static_cast<std::int64_t>(labels.size()) - 3);
  if (count < 0 || count > 20) return false;
  most = std::max(most, count);
  std::string names;
  for (std::int64_t i = count; i > 0; --i) names += static_cast<char>(i);
  labels.replace(dots, 3, names);
  return true;
}

// Empty when the equation is not one that we take.
std::optional<Equation> parse(const std::string& text, const std::vector<Value*>& tensors) {
  std::string plain;
  std::copy_if(text.begin(), text.end(), std::back_inserter(plain),
               [](char c) { return c != ' '; });
  const auto arrow = plain.find("->");
  std::string left = plain.substr(0, arrow);
  Equation equation;
  for (std::size_t start = 0; start <= left.size();) {
    const auto comma = std::min(left.find(',', start), left.size());
    equation.inputs.push_back(left.substr(start, comma - start));
    start = comma + 1;
  }
  if (equation.inputs.size() != tensors.size()) return std::nullopt;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!expand_ellipsis(equation.inputs[i], tensors[i]->rank(), most)) return std::nullopt;
  }
  std::string dots;
  for (std::int64_t i = most; i > 0; --i) dots += static_cast<char>(i);
  if (arrow != std::string::npos) {
    equation.output = plain.substr(arrow + 2);
    const auto place = equation.output.find("...");
    if (place != std::string::npos) equation.output.replace(place, 3, dots);
    return equation;
  }
  // Without an arrow: the ellipsis, then the labels that stand once, in order.
  std::map<char, int> counts;
  for (const std::string& input : equation.inputs) {
    for (const char label : input) ++counts[label];
  }
  equation.output = dots;
  for (const auto& [label, count] : counts) {
    if (label > 20 && count == 1) equation.output += label;
  }
  return equation;
}

// Every label has one size, and stands once in a tensor and in the output.
bool sizes_agree(const Equation& equation, const std::vector<Value*>& tensors) {
  std::map<char, Dim> sizes;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string& labels = equation.inputs[i];
    for (std::size_t d = 0; d < labels.size(); ++d) {
      if (labels.find(labels[d], d + 1) != std::string::npos) return false;
      const Dim& size = tensors[i]->sizes()[d];
      const auto [known, first] = sizes.emplace(labels[d], size);
      if (!first && known->second != size) return false;
    }
  }
  for (std::size_t d = 0; d < equation.output.size(); ++d) {
    const char label = equation.output[d];
    if (!sizes.contains(label) || equation.output.find(label, d + 1) != std::string::npos) {
      return false;
    }
  }
  return true;
}

Value* permute_to(RewriteContext& at, const Term& term, const std::string& wanted) {
  std::vector<std::int64_t> order;
  for (const char label : wanted) {
    order.push_back(static_cast<std::int64_t>(term.labels.find(label)));
  }
  return permute(at.builder, term.value, order);
}

// Sums the labels that are not in `needed`.
Term summed(RewriteContext& at, Term term, const std::string& needed) {
  std::vector<std::int64_t> dimensions;
  std::string kept;
  for (std::size_t d = 0; d < term.labels.size(); ++d) {
    if (contains(needed, term.labels[d])) {
      kept += term.labels[d];
    } else {
      dimensions.push_back(static_cast<std::int64_t>(d));
    }
  }
  if (dimensions.empty()) return term;
  // An int sum would widen the dtype, which einsum does not.
  Value* total = at.call("aten.sum.dim_IntList", {term.value, Argument::ints(dimensions), false},
                         {{"dtype", term.value->dtype()}});
  return {total, kept};
}

// Sizes of the labels, taken from a term that has them.
std::vector<Dim> sizes_of(const Term& term, const std::string& labels) {
  std::vector<Dim> sizes;
  for (const char label : labels) sizes.push_back(term.value->sizes()[term.labels.find(label)]);
  return sizes;
}

std::vector<Dim> joined(std::vector<Dim> first, const std::vector<Dim>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// `needed`: the labels that the output or a later tensor has.
Term contracted(RewriteContext& at, Term left, Term right, const std::string& needed) {
  left = summed(at, std::move(left), needed + right.labels);
  right = summed(at, std::move(right), needed + left.labels);
  std::string batch, rows, columns, inner;
  for (const char label : left.labels) {
    const bool shared = contains(right.labels, label);
    std::string& group = !shared ? rows : contains(needed, label) ? batch : inner;
    group += label;
  }
  for (const char label : right.labels) {
    if (!contains(left.labels, label)) columns += label;
  }
  const std::vector<Dim> batch_sizes = sizes_of(left, batch);
  const Dim inner_size = product(sizes_of(left, inner));
  Value* a = reshape(at.builder, permute_to(at, left, batch + rows + inner),
                     joined(batch_sizes, {product(sizes_of(left, rows)), inner_size}));
  Value* b = reshape(at.builder, permute_to(at, right, batch + inner + columns),
                     joined(batch_sizes, {inner_size, product(sizes_of(right, columns))}));
  Value* product_value = at.call("aten.matmul.default", {a, b});
  const std::vector<Dim> sizes =
      joined(joined(batch_sizes, sizes_of(left, rows)), sizes_of(right, columns));
  return {reshape(at.builder, product_value, sizes), batch + rows + columns};
}

Replacement einsum(RewriteContext& at, const Node& node) {
  const std::vector<Value*>& tensors = node.argument("tensors").tensors();
  const auto equation = parse(node.argument("equation").string(), tensors);
  if (!equation || tensors.empty() || !sizes_agree(*equation, tensors)) return kKeep;
  const bool floating = is_floating_point(node.result()->dtype());
  if (tensors.size() > 1 && !floating) return kKeep;
  Term term{tensors[0], equation->inputs[0]};
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    std::string needed = equation->output;
    for (std::size_t later = i + 1; later < tensors.size(); ++later) {
      needed += equation->inputs[later];
    }
    term = contracted(at, std::move(term), {tensors[i], equation->inputs[i]}, needed);
  }
  term = summed(at, std::move(term), equation->output);
  return replace_by(permute_to(at, term, equation->output));
}

constexpr RewriteRow kRows[] = {{"aten.einsum.default", einsum}};

}  // namespace

std::span<const RewriteRow> einsum_rewrites() { return kRows; }

}  // namespace unfuse::passes
