#pragma once

#include <memory>

#include "targets/cpu/executable.h"

namespace unfuse::python {

struct ExecutableHandle {
  std::shared_ptr<const cpu::Executable> executable;
};

}  // namespace unfuse::python
