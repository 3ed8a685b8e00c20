// What a lowering to ONNX works with: the operands of its node, sizes, and nodes to emit.
#pragma once

#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ir/linear_dim.h"
#include "onnx/model_builder.h"

namespace unfuse::onnx {

/// Why a node has no ONNX form.
class Refusal : public std::exception {
 public:
  explicit Refusal(std::string reason) : reason_(std::move(reason)) {}
  const char* what() const noexcept override { return reason_.c_str(); }

 private:
  std::string reason_;
};

[[noreturn]] void refuse(const std::string& reason);

/// What a dtype is computed in. The same dtype, but float32 for bfloat16, which few ONNX ops and
/// hardly any of their implementations take, int32 for narrower integers and bools, and int64 for
/// uint32. Converted back, results are those that PyTorch rounds, or wraps, each op's result to.
DType arithmetic_dtype(DType dtype);
/// The same, but float32 for float16 too: where several steps lie between operands and result,
/// which PyTorch computes in float32.
DType wide_dtype(DType dtype);

using Attributes = std::vector<Attribute>;

class LoweringContext {
 public:
  LoweringContext(const Graph& graph, int opset);

  const Graph& graph() const { return *graph_; }
  int opset() const { return builder_.opset(); }
  ModelBuilder& builder() { return builder_; }

  /// --- Operands
  Operand operand(const Value* value);
  Operand operand(const Value* value, DType dtype) { return convert(operand(value), dtype); }
  /// A tensor, or a number (0-d), converted to `dtype`.
  Operand operand(const Argument& argument, DType dtype);
  /// A tensor or a number as one of `dtype`, which integers wrap to, in the dtype that this is
  /// computed in.
  Operand operand(const Argument& argument, DType dtype, DType computed);
  /// Left out where the argument is None.
  Operand optional_operand(const Argument& argument, DType dtype);
  static Operand absent() { return {}; }

  /// --- Constants
  Operand number(double value, DType dtype);
  Operand number(std::int64_t value, DType dtype);
  /// int64 of one dimension.
  Operand integers(const std::vector<std::int64_t>& values);
  Operand constant(const Tensor& data) { return builder_.constant(data); }

  /// --- Sizes, computed where they are not known
  /// int64 [1].
  Operand size(const Dim& dim);
  /// int64 [dims.size()].
  Operand sizes(const std::vector<Dim>& dims);
  /// int64 without dimensions.
  Operand scalar_size(const Dim& dim);

  /// --- Nodes
  Operand emit(const std::string& op, const std::vector<Operand>& inputs, DType result,
               Attributes attributes = {});
  /// The result has the first operand's dtype.
  Operand emit(const std::string& op, const std::vector<Operand>& inputs,
               Attributes attributes = {});
  Operand convert(Operand operand, DType dtype);
  Operand reshape(Operand operand, const std::vector<Dim>& from, const std::vector<Dim>& to);
  Operand transpose(Operand operand, const std::vector<std::int64_t>& order);
  Operand expand(Operand operand, const std::vector<Dim>& from, const std::vector<Dim>& to);
  /// ReduceSum and its kin; nothing where `axes` is empty.
  Operand reduce(const std::string& op, Operand operand, const std::vector<std::int64_t>& axes,
                 bool keep = true);
  /// A dimension of size 1 at each of the places, as they are numbered in the result.
  Operand unsqueeze(Operand operand, const std::vector<std::int64_t>& axes);
  Operand squeeze(Operand operand, const std::vector<std::int64_t>& axes);
  Operand slice(Operand operand, std::int64_t axis, const Dim& start, const Dim& end,
                const Dim& step = 1);
  /// condition ? chosen : other; both of one dtype, in which it is computed.
  Operand where(Operand condition, Operand chosen, Operand other);
  /// int64 [count]: 0, 1, ...
  Operand range(const Dim& count);

  /// The result of a node, converted to its dtype.
  void define(const Value* result, Operand operand);

  /// Makes an operand of an input of the graph, with a name of its own.
  void define_input(const Value* input, Operand operand) { operands_[input] = operand; }

 private:
  /// Where a symbol's value is found: coefficient * symbol + offset is the size of a dimension of
  /// `value`, or `value` itself.
  struct Source {
    const Value* value = nullptr;
    std::int64_t dimension = -1;
    LinearDim linear;
  };

  void find_sources();
  Operand symbol(const std::string& name);
  Operand compute(const Dim& dim);
  Operand compute(const Atom& atom);
  Operand weight(const GraphInput& input);

  const Graph* graph_;
  ModelBuilder builder_;
  std::map<const Value*, Operand> operands_;
  std::map<std::string, Source> sources_;
  std::map<std::string, Operand> sizes_;  ///< int64 [1], by text
  std::map<std::string, Operand> weights_;
};

}  // namespace unfuse::onnx
