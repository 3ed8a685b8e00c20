// The built-in target.
#pragma once

#include "targets/target.h"

namespace unfuse::cpu {

class CpuTarget final : public Target {
 public:
  std::string name() const override { return "cpu"; }
  bool has(const Op& op) const override;
  std::optional<std::string> refusal(const Node& node) const override;
};

}  // namespace unfuse::cpu
