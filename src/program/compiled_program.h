// What stands behind unfuse::Program, for the command and the Python binding: a model compiled as
// one piece, with its call signature.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "pt2/exported_program.h"
#include "targets/cpu/executable.h"
#include "unfuse/program.h"
#include "unfuse/report.h"
#include "unfuse/tensor.h"

namespace unfuse {

/// One of the flattened call arguments.
struct FlatInput {
  std::string name;
  int position = -1;      ///< in inputs(); -1 for a constant of the call
  bool is_tensor = true;  ///< else a symbolic int, passed as an int64 tensor without dimensions
  bool written = false;   ///< the model writes to it
  Argument literal;       ///< of a constant
};

/// One of the flattened results.
struct FlatOutput {
  std::string name;
  int position = -1;  ///< in outputs(); -1 for what is no tensor
  Argument constant;  ///< None, a number, a string, or an int that may be symbolic
};

/// Immutable but for the buffers that the model updates; every function may be called from many
/// threads at once.
class CompiledProgram {
 public:
  /// Opens and compiles the model. `where` names it in messages. Throws Error (kUnsupported) that
  /// lists every op that is left.
  CompiledProgram(pt2::ExportedProgram exported, const CompileOptions& options,
                  const std::string& where);
  /// See Program::load.
  static std::shared_ptr<const CompiledProgram> load(const std::string& path,
                                                     const CompileOptions& options,
                                                     const std::string& model);

  const std::vector<TensorInfo>& inputs() const { return inputs_; }
  const std::vector<TensorInfo>& outputs() const { return outputs_; }
  const std::vector<FlatInput>& flat_inputs() const { return flat_inputs_; }
  const std::vector<FlatOutput>& flat_outputs() const { return flat_outputs_; }
  const pt2::CallSignature& signature() const { return signature_; }
  const Report& report() const { return report_; }

  /// See Program::run. `threads` 0 takes the compile option.
  std::vector<Tensor> run(std::span<const Tensor> inputs, int threads = 0) const;
  /// See Program::arena_bytes.
  std::int64_t arena_bytes(std::span<const Tensor> inputs) const;

 private:
  /// Where an input of the executable comes from.
  struct Source {
    bool is_state = false;
    std::size_t index = 0;  ///< in the call's inputs or in the state
    bool is_tensor = true;
  };
  /// What becomes of an output of the executable.
  struct Destination {
    OutputKind kind = OutputKind::kUser;
    std::size_t index = 0;  ///< in the state, the call's inputs, or its outputs
  };
  using State = std::vector<Tensor>;

  void describe_call(const Graph& graph);
  void name_outputs(const Graph& graph);
  void make_state(Graph& graph);
  void find_destinations(const Graph& graph, const std::string& where);
  struct Gathered;
  void gather(std::span<const Tensor> inputs, const State& state, Gathered& gathered) const;
  std::vector<Tensor> hand_out(std::vector<Tensor> results, std::span<const Tensor> inputs,
                               int threads) const;
  std::shared_ptr<const State> state() const;
  void set_state(std::shared_ptr<const State> state) const;

  pt2::CallSignature signature_;
  Report report_;
  int threads_ = 0;
  std::vector<TensorInfo> inputs_;
  std::vector<TensorInfo> outputs_;
  std::vector<FlatInput> flat_inputs_;
  std::vector<FlatOutput> flat_outputs_;
  std::vector<std::string> state_names_;
  std::vector<Source> sources_;
  std::vector<Destination> destinations_;
  std::shared_ptr<const cpu::Executable> executable_;
  std::shared_ptr<const cpu::Preparation> preparation_;
  mutable std::mutex state_mutex_;
  mutable std::shared_ptr<const State> state_;
};

}  // namespace unfuse
