#include "ir/linear_dim.h"

namespace unfuse {

std::optional<LinearDim> as_linear(const Dim& dim) {
  if (dim.terms().size() != 1) return std::nullopt;
  const Dim::Term& term = dim.terms().front();
  if (term.factors.size() != 1 || term.factors[0]->kind != Atom::Kind::kSymbol) return std::nullopt;
  return LinearDim{term.factors[0]->text, term.coefficient, dim.constant_term()};
}

}  // namespace unfuse
