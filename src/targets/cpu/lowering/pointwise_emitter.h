// Writing pointwise ops as programs of the pointwise kernel.
#pragma once

#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "targets/cpu/kernels/pointwise.h"
#include "targets/cpu/lowering/context.h"

namespace unfuse::cpu {

/// The register type that elements of this dtype are computed in.
RegisterType register_type(DType dtype);

/// Of a node's first result.
RegisterType result_register_type(const Node& node);

/// Of a node's first two arguments, tensors or numbers, by PyTorch's promotion: what comparisons
/// compute in.
DType promoted_dtype(const Node& node);

/// Builds a program. Functions return registers.
class PointwiseEmitter {
 public:
  explicit PointwiseEmitter(LoweringContext& context) : context_(&context) {}

  /// An operand's elements, or a number, converted to `type`.
  int load(const Argument& argument, RegisterType type);
  int load(const View& view, RegisterType type);
  /// An operand of one element a channel, for a result of this rank: see along_channels.
  int load_channels(const Value* value, std::int64_t rank, RegisterType type);
  /// The same in the register type of `dtype`, which a number takes first: -1 beside a uint8 tensor
  /// is 255.
  int load(const Argument& argument, DType dtype);
  int constant(double value, RegisterType type);
  int constant(std::int64_t value, RegisterType type);
  int emit(PointwiseOp op, RegisterType type, std::initializer_list<int> arguments,
           std::array<double, 3> parameters = {}, std::int64_t integer = 0);

  /// From here on the value is this register, and not read from memory. Bools become 0 or 1; other
  /// values must be what memory of their dtype would hold.
  void define(const Value* value, int reg);
  int defined(const Value* value) const { return defined_.at(value); }

  /// A number argument, symbolic ints evaluated.
  double number(const Argument& argument) const;

  /// Emits the kernel: `registers` are stored to `results`, operands are broadcast to `sizes`.
  void finish(const std::vector<int>& registers, const Sizes& sizes,
              const std::vector<View>& results);

 private:
  RegisterType type_of(int reg) const;
  bool holds_truth(int reg) const;
  int converted(int reg, RegisterType type);

  /// Registers are numbered inputs first, so that an instruction's number is known only when all
  /// inputs are: until then instructions count from here.
  static constexpr int kFirstInstruction = 1 << 20;

  LoweringContext* context_;
  struct Input {
    const Value* value = nullptr;  ///< null for a view given directly
    View view;
    RegisterType type;
  };
  std::vector<Input> inputs_;
  std::vector<PointwiseInstruction> instructions_;
  std::unordered_map<const Value*, int> defined_;
};

struct PointwiseRow {
  const char* op;
  /// Emits what computes the node's only result; returns its register.
  int (*emit)(PointwiseEmitter& emitter, const Node& node);
};

std::span<const PointwiseRow> arithmetic_rows();
std::span<const PointwiseRow> unary_rows();
std::span<const PointwiseRow> activation_rows();
std::span<const PointwiseRow> comparison_rows();
std::span<const PointwiseRow> selection_rows();

/// Null when the op is not pointwise.
const PointwiseRow* find_pointwise(OpId id);

}  // namespace unfuse::cpu
