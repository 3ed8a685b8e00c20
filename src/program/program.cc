#include "unfuse/program.h"

#include <utility>

#include "program/compiled_program.h"

namespace unfuse {

class Program::Implementation {
 public:
  std::shared_ptr<const CompiledProgram> compiled;
};

Program::Program(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

Program Program::load(const std::string& path, const CompileOptions& options,
                      const std::string& model) {
  auto implementation = std::make_unique<Implementation>();
  implementation->compiled = CompiledProgram::load(path, options, model);
  return Program(std::move(implementation));
}

const std::vector<TensorInfo>& Program::inputs() const {
  return implementation_->compiled->inputs();
}

const std::vector<TensorInfo>& Program::outputs() const {
  return implementation_->compiled->outputs();
}

std::vector<Tensor> Program::run(std::span<const Tensor> inputs) const {
  return implementation_->compiled->run(inputs);
}

const Report& Program::report() const { return implementation_->compiled->report(); }

std::int64_t Program::arena_bytes(std::span<const Tensor> inputs) const {
  return implementation_->compiled->arena_bytes(inputs);
}

}  // namespace unfuse
