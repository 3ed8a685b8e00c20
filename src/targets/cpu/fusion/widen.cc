// Computes 16-bit graphs in float32.
//
// What fast 16-bit arithmetic the machine has is in matrix products, which multiply_bfloat16 cares
// for; and kernels of one precision are kernels half as many. Every value that was float16 or
// bfloat16 becomes float32: graph inputs are converted where they come in (parameters once, in the
// preparation), outputs where they leave. Rounding between ops, which eager does after each of
// them, is left out, since more exact is better; but where the model itself converts to a 16-bit
// dtype the values are rounded, since it may rely on that.
#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "ops/catalogue.h"
#include "ops/numbers_of_dtypes.h"
#include "targets/cpu/fusion/fusion.h"

namespace unfuse::cpu {
namespace {

bool is_narrow(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

bool is_narrow(const Value* value) { return value->is_tensor() && is_narrow(value->dtype()); }

TensorType with_dtype(TensorType type, DType dtype) {
  type.dtype = dtype;
  return type;
}

Value* convert(Graph& graph, Value* value, DType dtype, Node* before) {
  const Op& op = ops::get("aten._to_copy.default");
  Arguments arguments = complete_arguments(op, {value}, {{"dtype", dtype}});
  return graph
      .create_node(op, std::move(arguments), {with_dtype(value->tensor(), dtype)}, before,
                   value->name())
      ->result();
}

/// Ops that read few of many rows, and whose kernel widens what it reads: their first operand stays
/// narrow where it comes from outside.
bool reads_rows(const Node& node) {
  constexpr std::array<std::string_view, 3> kOps = {
      "aten.embedding.default", "aten.index_select.default", "aten.index.Tensor"};
  return std::find(kOps.begin(), kOps.end(), node.op().name) != kOps.end();
}

bool is_conversion(const Node& node) {
  constexpr std::array<std::string_view, 6> kOps = {
      "aten._to_copy.default", "aten.to.dtype", "aten.to.device",
      "aten.to.dtype_layout",  "aten.to.other", "aten.type_as.default"};
  return std::find(kOps.begin(), kOps.end(), node.op().name) != kOps.end();
}

/// Every value of this dtype is a value of both 16-bit dtypes.
bool is_exact_in_16_bits(DType dtype) {
  return dtype == DType::kBool || dtype == DType::kInt8 || dtype == DType::kUInt8;
}

class Widening {
 public:
  explicit Widening(Graph& graph) : graph_(graph) {
    for (const GraphInput& input : graph.inputs()) remember(input.value);
    for (Node* node : graph.nodes()) {
      nodes_.push_back(node);
      for (Value* result : node->results()) remember(result);
    }
  }

  void apply() {
    if (original_.empty()) return;
    for (const GraphInput& input : graph_.inputs()) {
      if (input.value != nullptr && is_narrow(input.value)) widen_input(input.value);
    }
    for (Node* node : nodes_) widen_node(node);
    narrow_outputs();
  }

 private:
  void remember(const Value* value) {
    if (value != nullptr && is_narrow(value)) original_[value] = value->dtype();
  }

  DType original_dtype(const Value* value) const {
    const auto found = original_.find(value);
    return found == original_.end() ? value->dtype() : found->second;
  }

  /// Nodes use `to` in place of `from`; outputs keep it.
  void replace_in_nodes(Value* from, Value* to) {
    const std::vector<Use> uses = from->uses();
    for (const Use& use : uses) {
      if (use.node == to->producer() ||
          (use.argument == 0 && reads_rows(*use.node) && from->producer() == nullptr)) {
        continue;
      }
      Argument argument = use.node->argument(use.argument);
      argument.replace_value(from, to);
      graph_.set_argument(use.node, use.argument, std::move(argument));
    }
  }

  void widen_input(Value* value) {
    if (value->uses().empty()) return;
    Value* wide = convert(graph_, value, DType::kFloat32, nodes_.front());
    original_[wide] = value->dtype();
    replace_in_nodes(value, wide);
    if (wide->use_count() == 0) graph_.erase(wide->producer());
  }

  void widen_node(Node* node) {
    if (is_conversion(*node) && is_narrow(node->result())) {
      const DType from = original_dtype(node->input(0));
      const bool keeps_values = from == node->result()->dtype() || is_exact_in_16_bits(from);
      if (!keeps_values) {
        Value* rounded = node->result();
        Value* wide = convert(graph_, rounded, DType::kFloat32, node->next());
        replace_in_nodes(rounded, wide);
        return;
      }
    }
    if (node->is("aten.nan_to_num.default")) keep_limits(node);
    for (Value* result : node->results()) {
      if (is_narrow(result)) result->set_type(with_dtype(result->tensor(), DType::kFloat32));
    }
    for (std::size_t i = 0; i < node->arguments().size(); ++i) {
      const auto* dtype = node->argument(static_cast<int>(i)).get_if<DType>();
      if (dtype != nullptr && is_narrow(*dtype)) {
        graph_.set_argument(node, static_cast<int>(i), DType::kFloat32);
      }
    }
  }

  /// What infinities become by default depends on the dtype.
  void keep_limits(Node* node) {
    if (!is_narrow(node->result())) return;
    const double limit = ops::largest_number(node->result()->dtype());
    for (const auto& [name, value] : {std::pair("posinf", limit), std::pair("neginf", -limit)}) {
      if (!node->argument(name).is_none()) continue;
      graph_.set_argument(node, node->op().schema.index_of(name), value);
    }
  }

  void narrow_outputs() {
    std::unordered_map<Value*, Value*> narrowed;
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Argument& argument = graph_.outputs()[i].value;
      if (!argument.is_value()) continue;
      Value* value = argument.value();
      if (!value->is_tensor() || original_dtype(value) == value->dtype()) continue;
      Value*& narrow = narrowed[value];
      if (narrow == nullptr) narrow = convert(graph_, value, original_dtype(value), nullptr);
      graph_.set_output(i, narrow);
    }
  }

  Graph& graph_;
  std::vector<Node*> nodes_;
  /// The dtype of every value that was 16 bits wide, and of what stands for it now.
  std::unordered_map<const Value*, DType> original_;
};

}  // namespace

void widen(Graph& graph) { Widening(graph).apply(); }

}  // namespace unfuse::cpu
