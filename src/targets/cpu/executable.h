// A graph compiled for the CPU: prepared parameters, plans for concrete sizes, and running them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "unfuse/program.h"
#include "unfuse/tensor.h"

namespace unfuse::cpu {

/// Everything computed from parameters, buffers and constants alone: packed weights, widened
/// 16-bit tensors, folded norms. A snapshot; immutable.
class Preparation;

/// Kernel calls for concrete sizes, strides and threads, with resolved arena offsets. Immutable.
class Plan;

/// What planning needs of an input: a tensor's dtype, sizes and strides, or the value of a symbolic
/// int. Refers to sizes and strides that must outlive it.
class InputValue {
 public:
  InputValue(const Tensor& tensor)  // NOLINT(google-explicit-constructor): tensors are inputs
      : InputValue(tensor.dtype(), tensor.sizes(), tensor.strides()) {}
  InputValue(Tensor&&) = delete;
  InputValue(DType dtype, std::span<const std::int64_t> sizes,
             std::span<const std::int64_t> strides)
      : is_tensor_(true), dtype_(dtype), sizes_(sizes), strides_(strides) {}
  InputValue(std::int64_t value)  // NOLINT(google-explicit-constructor): ints are inputs too
      : value_(value) {}

  bool is_tensor() const { return is_tensor_; }
  DType dtype() const { return dtype_; }
  std::span<const std::int64_t> sizes() const { return sizes_; }
  std::span<const std::int64_t> strides() const { return strides_; }  ///< in elements
  /// Of an int.
  std::int64_t value() const { return value_; }

 private:
  bool is_tensor_ = false;
  DType dtype_ = DType::kFloat32;
  std::span<const std::int64_t> sizes_;
  std::span<const std::int64_t> strides_;
  std::int64_t value_ = 0;
};

/// A tensor's type with concrete sizes.
struct ConcreteType {
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  ///< in elements
};

/// Immutable; every function may be called from many threads at once.
class Executable {
 public:
  /// Takes a graph in which every node passes CpuTarget::refusal, and fuses and lowers it.
  /// Throws Error (kUnsupported) naming every node that does not. What a report should tell is
  /// added to `notes`.
  static std::shared_ptr<const Executable> compile(Graph graph, const CompileOptions& options,
                                                   std::vector<std::string>* notes = nullptr);
  ~Executable();

  /// The compiled graph's inputs, in order, as they were given to compile().
  const std::vector<GraphInput>& inputs() const;

  /// `parameters` has one tensor for each input of kind kParameter, kBuffer or kConstant that has
  /// no data of its own, in input order. Keeps references where it can, copies where it must.
  std::shared_ptr<const Preparation> prepare(std::span<const Tensor> parameters) const;

  /// `inputs` has one value for each kUser input, in input order. Plans are cached by symbol
  /// values, input strides and thread count; `threads` 0 takes the compile option. The plan that
  /// was used last is found without any allocation.
  /// Throws Error (kInvalidArgument) naming the input that does not fit.
  std::shared_ptr<const Plan> plan(std::span<const InputValue> inputs, int threads = 0) const;

  /// What the plan's outputs are, one a graph output that is a tensor, mutations included.
  static const std::vector<ConcreteType>& output_types(const Plan& plan);
  static std::int64_t arena_bytes(const Plan& plan);
  /// What each of the plan's steps is for, in order: the op's name, or several with " + " between
  /// them; with " (copy)" behind it where the step moves elements only. To look at plans, and for
  /// tests.
  static std::vector<std::string> step_names(const Plan& plan);

  /// Pointers to the elements of every kUser input, null for a symbolic int, and of outputs that
  /// the caller allocated as output_types() says. Outputs must not overlap inputs.
  void run(const Plan& plan, const Preparation& preparation, std::span<void* const> inputs,
           std::span<void* const> outputs) const;

 private:
  struct Implementation;
  explicit Executable(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace unfuse::cpu
