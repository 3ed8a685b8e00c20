// A compiled model: load a torch.export archive, run it. No Python and no libtorch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unfuse/dtype.h"
#include "unfuse/error.h"
#include "unfuse/report.h"
#include "unfuse/tensor.h"

namespace unfuse {

/// What attention gives for a row whose keys are all masked.
enum class FullyMaskedRows {
  kOp,    ///< what the op in the graph gives: NaN for the fused ops, zero for SDPA
  kZero,  ///< always zero, as SDPA does
};

/// What an nn.TransformerEncoder gives at rows that its padding mask drops, where eager runs it
/// with nested tensors (`enable_nested_tensor`, which is the default, and padding at the end of
/// every sequence).
enum class PaddedRows {
  kExported,  ///< what the exported graph gives: it computes them like others
  kZero,  ///< zeros before the encoder's last norm, as eager does; what depends on them alone is
          ///< not computed
};

/// What models of 16-bit floats are computed in. Sums are float32 in any case, and so is what lies
/// between ops.
enum class Arithmetic {
  kFastest,   ///< bfloat16 layers and attention multiply in bfloat16 where the machine does so
              ///< faster, float16 layers in two bfloat16 a number; else float32
  kFloat32,   ///< no value is rounded to 16 bits but where it leaves
  kBFloat16,  ///< bfloat16 models multiply in bfloat16; an error where the machine cannot
};

struct CompileOptions {
  FullyMaskedRows fully_masked_rows = FullyMaskedRows::kOp;
  PaddedRows padded_rows = PaddedRows::kExported;
  Arithmetic arithmetic = Arithmetic::kFastest;
  /// Threads a run uses; 0 takes OMP_NUM_THREADS, or all cores.
  int threads = 0;
};

/// One size of an input or output: fixed, or symbolic with the range that was exported.
struct SizeInfo {
  std::string text;          ///< "512", "s0", "2*s0"
  std::int64_t minimum = 0;  ///< equal to maximum when fixed
  std::int64_t maximum = 0;
  bool fixed() const { return minimum == maximum; }
};

struct TensorInfo {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<SizeInfo> sizes;
};

/// Immutable once made, but for buffers that the model itself updates; run() may be called from
/// many threads at once.
class Program {
 public:
  /// Reads and compiles a .pt2 archive that torch.export.save wrote (torch 2.9 or newer).
  /// `model` is the one to take from an archive of several, by its name there. Throws Error:
  /// kInvalidFile, kUnsupported naming every op that the CPU target lacks, or kInvalidArgument
  /// naming the models that there are.
  static Program load(const std::string& path, const CompileOptions& options = {},
                      const std::string& model = "");

  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  /// What the caller passes, in the order of the flattened call arguments: tensors, and ints that
  /// the model was exported with as symbolic ones, which are passed as int64 tensors without
  /// dimensions. Constants of the call (None, 3, "mean") were fixed at export and are left out.
  const std::vector<TensorInfo>& inputs() const;
  /// Tensor outputs, in the order of the flattened result. Results that are None or numbers are
  /// left out.
  const std::vector<TensorInfo>& outputs() const;

  /// Runs the model. Inputs may have any strides and are read in place; an input that the model
  /// mutates is written once everything is computed. Outputs are new tensors. Buffers that the
  /// model updates belong to the program: each run reads all of them as some run before left them,
  /// and replaces all of them at its end; of runs at the same time the last to end wins. Throws
  /// Error (kInvalidArgument) naming the input whose dtype, rank or size is wrong, or
  /// (kUnsupported) what does not fit into memory.
  std::vector<Tensor> run(std::span<const Tensor> inputs) const;

  const Report& report() const;

  /// Bytes of working memory that a run with inputs of these sizes takes above weights, inputs and
  /// outputs.
  std::int64_t arena_bytes(std::span<const Tensor> inputs) const;

  class Implementation;
  explicit Program(std::unique_ptr<Implementation> implementation);

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace unfuse
