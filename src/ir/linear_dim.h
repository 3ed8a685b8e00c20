// Sizes that tell a symbol.
#pragma once

#include <optional>
#include <string>

#include "ir/dim.h"

namespace unfuse {

/// coefficient * symbol + offset, with a coefficient that is not 0.
struct LinearDim {
  std::string symbol;
  std::int64_t coefficient = 0;
  std::int64_t offset = 0;
};

/// How a size depends on its only symbol, when it does so linearly: the size tells the symbol then.
std::optional<LinearDim> as_linear(const Dim& dim);

}  // namespace unfuse
