#include "onnx/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "onnx/lowering/context.h"
#include "onnx/lowering/table.h"
#include "unfuse/error.h"

namespace unfuse::onnx {
namespace {

/// Nodes of one op that cannot be said for one reason.
struct Failure {
  std::string op;
  std::string reason;
  Origin first;
  int count = 0;
};

class Failures {
 public:
  void add(const Node& node, const std::string& reason) {
    for (Failure& known : list_) {
      if (known.op == node.op().name && known.reason == reason) {
        ++known.count;
        return;
      }
    }
    list_.push_back({node.op().name, reason, node.origin(), 1});
  }

  void throw_any(const std::string& where) const {
    if (list_.empty()) return;
    std::string text;
    int count = 0;
    for (const Failure& failure : list_) {
      count += failure.count;
      const std::string times = failure.count > 1 ? fmt::format(" ({} times)", failure.count) : "";
      text += fmt::format("{}{}{}{}: {}", text.empty() ? "" : "; ", failure.op, times,
                          place(failure.first), failure.reason);
    }
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{} node{} of the model cannot be said in ONNX: {}", count,
                            count == 1 ? "" : "s", text),
                where);
  }

 private:
  static std::string place(const Origin& origin) {
    if (origin.module_path.empty() && origin.source.empty()) return "";
    if (origin.source.empty()) return " at " + origin.module_path;
    if (origin.module_path.empty()) return " at " + origin.source;
    return fmt::format(" at {} ({})", origin.module_path, origin.source);
  }

  std::vector<Failure> list_;
};

class Converter {
 public:
  Converter(const Graph& graph, int opset, const std::vector<std::string>& output_names)
      : graph_(&graph), output_names_(output_names), context_(graph, opset) {
    for (const GraphOutput& output : graph.outputs()) {
      if (output.kind != OutputKind::kUser) written_.insert(output.target);
    }
  }

  Model run(const std::string& where) {
    reserve_output_names();
    add_inputs();
    lower_nodes(where);
    add_outputs(where);
    return context_.builder().finish("main");
  }

 private:
  static std::string name_of(const GraphInput& input) {
    return input.target.empty() ? input.value->name() : input.target;
  }

  /// Inputs first: they have the names that callers know.
  void reserve_output_names() {
    std::set<std::string> taken;
    for (const GraphInput& input : graph_->inputs()) {
      if (input.value != nullptr) taken.insert(name_of(input));
    }
    std::size_t position = 0;
    for (const GraphOutput& output : graph_->outputs()) {
      std::string name = output.target + ".updated";
      if (output.kind == OutputKind::kUser) name = output_names_.at(position++);
      std::string own = name;
      for (int i = 1; !taken.insert(own).second; ++i) own = fmt::format("{}_{}", name, i);
      own_names_.push_back(own);
      context_.builder().reserve(own);
    }
  }

  void add_inputs() {
    for (const GraphInput& input : graph_->inputs()) {
      if (input.value == nullptr) continue;
      const bool is_user = input.kind == InputKind::kUser;
      if (is_user && std::holds_alternative<IntType>(input.value->type())) {
        context_.define_input(input.value,
                              context_.builder().add_input(name_of(input), DType::kInt64, {}));
        continue;
      }
      if (!input.value->is_tensor()) continue;
      const bool is_state = !is_user && written_.contains(input.target);
      if (!is_user && !is_state) continue;
      const TensorType& type = input.value->tensor();
      const Operand own = context_.builder().add_input(name_of(input), type.dtype, type.sizes);
      if (is_state && input.data.defined()) context_.builder().set_default(own, input.data);
      context_.define_input(input.value, own);
    }
  }

  void lower_nodes(const std::string& where) {
    Failures failures;
    std::set<const Node*> failed;
    for (const Node* node : graph_->nodes()) {
      const LoweringRow* row = find_lowering(node->id());
      if (row == nullptr) {
        failures.add(*node, "no form of it in ONNX is known here");
        failed.insert(node);
        continue;
      }
      // What cannot be said for want of an operand is no news.
      const auto operands = node->operands();
      const bool lacks_operand =
          std::any_of(operands.begin(), operands.end(), [&](const Value* operand) {
            return operand->producer() != nullptr && failed.contains(operand->producer());
          });
      if (lacks_operand) {
        failed.insert(node);
        continue;
      }
      context_.builder().set_scope(node->results().empty() ? "" : node->result()->name(),
                                   node->origin());
      try {
        row->lower(*node, context_);
      } catch (const Refusal& refusal) {
        failures.add(*node, refusal.what());
        failed.insert(node);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kUnsupported) throw;
        failures.add(*node, error.message());
        failed.insert(node);
      }
    }
    failures.throw_any(where);
  }

  /// The call's results first, whatever the order in the file, so that they keep their positions.
  void add_outputs(const std::string& where) {
    context_.builder().set_scope("", {});
    for (const bool is_user : {true, false}) {
      for (std::size_t i = 0; i < graph_->outputs().size(); ++i) {
        const GraphOutput& output = graph_->outputs()[i];
        if ((output.kind == OutputKind::kUser) == is_user) add_output(output, own_names_[i], where);
      }
    }
  }

  void add_output(const GraphOutput& output, const std::string& name, const std::string& where) {
    if (!output.value.is_value() || !output.value.value()->is_tensor()) return;
    const Value* value = output.value.value();
    try {
      context_.builder().add_output(context_.operand(value), name, value->dtype(), value->sizes());
    } catch (const Refusal& refusal) {
      throw Error(ErrorKind::kUnsupported, refusal.what(), where);
    }
  }

  const Graph* graph_;
  const std::vector<std::string>& output_names_;
  LoweringContext context_;
  std::set<std::string> written_;
  std::vector<std::string> own_names_;  ///< of the outputs, in their order
};

}  // namespace

std::vector<std::string> output_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const GraphOutput& output : graph.outputs()) {
    if (output.kind != OutputKind::kUser) continue;
    names.push_back(output.value.is_value() ? output.value.value()->name() : "");
  }
  return names;
}

bool has_form(const Op& op) { return find_lowering(op.id) != nullptr; }

Model convert(const Graph& graph, int opset, const std::vector<std::string>& output_names,
              const std::string& where) {
  if (opset < kOldestOpset || opset > kNewestOpset) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("opset {} is not written", opset), where,
                fmt::format("choose one from {} to {}", kOldestOpset, kNewestOpset));
  }
  return Converter(graph, opset, output_names).run(where);
}

}  // namespace unfuse::onnx
