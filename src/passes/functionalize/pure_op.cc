// Most in-place ops are pure ops with an underscore at the end of their name. The result of the
// pure op may be of a wider dtype (float16 += float32) or a narrower one (x.eq_(y)); what is
// written is of the tensor's own. The few that have no pure sister, or one of another name, are in
// the table below.
#include "passes/functionalize/pure_op.h"

#include <string_view>
#include <unordered_map>

#include "ops/catalogue.h"
#include "passes/canonical.h"
#include "unfuse/error.h"

namespace unfuse::passes {
namespace {

[[noreturn]] void unsupported(const Node& node, const std::string& message) {
  throw Error(
      ErrorKind::kUnsupported, message, node.where(),
      "write the model without this in-place op, or use use_aot=True, where torch makes the "
      "graph functional");
}

using MakePure = Value* (*)(Builder& builder, const Node& node, Value* self);

// A tensor broadcast into `self`, or a number. Never the source itself: both live on, each in its
// own memory.
Value* filled_with(Builder& builder, const Argument& source, const Value* self) {
  if (!source.is_value()) return full(builder, self->sizes(), source, self->dtype());
  Value* made = expand(builder, convert(builder, source.value(), self->dtype()), self->sizes());
  return made == source.value() ? call(builder, "aten.clone.default", {made}) : made;
}

Value* copy(Builder& builder, const Node& node, Value* self) {
  return filled_with(builder, node.argument("src"), self);
}

Value* fill_with_tensor(Builder& builder, const Node& node, Value* self) {
  return filled_with(builder, node.argument("value"), self);
}

Value* fill(Builder& builder, const Node& node, Value* self) {
  return full(builder, self->sizes(), node.argument("value"), self->dtype());
}

Value* zero(Builder& builder, const Node&, Value* self) {
  return full(builder, self->sizes(), 0, self->dtype());
}

// low + (high - low) * a draw of [0, 1)
Value* uniform(Builder& builder, const Node& node, Value* self) {
  const double low = node.argument("from").number();
  const double high = node.argument("to").number();
  Value* drawn = call(builder, "aten.rand_like.default", {self});
  Value* scaled = call(builder, "aten.mul.Scalar", {drawn, high - low});
  return call(builder, "aten.add.Scalar", {scaled, low});
}

Value* normal(Builder& builder, const Node& node, Value* self) {
  Value* drawn = call(builder, "aten.randn_like.default", {self});
  Value* scaled = call(builder, "aten.mul.Scalar", {drawn, node.argument("std").number()});
  return call(builder, "aten.add.Scalar", {scaled, node.argument("mean").number()});
}

Value* bernoulli(Builder& builder, const Node& node, Value* self) {
  return call(builder, "aten.bernoulli.p", {self, node.argument("p")});
}

const std::unordered_map<std::string_view, MakePure>& special_ops() {
  static const std::unordered_map<std::string_view, MakePure> table = {
      {"aten.bernoulli_.float", bernoulli}, {"aten.copy_.default", copy},
      {"aten.fill_.Scalar", fill},          {"aten.fill_.Tensor", fill_with_tensor},
      {"aten.normal_.default", normal},     {"aten.uniform_.default", uniform},
      {"aten.zero_.default", zero},
  };
  return table;
}

// In-place ops whose pure sister has another overload name.
const std::unordered_map<std::string_view, std::string_view>& renamed_ops() {
  static const std::unordered_map<std::string_view, std::string_view> table = {
      {"aten.float_power_.Scalar", "aten.float_power.Tensor_Scalar"},
      {"aten.float_power_.Tensor", "aten.float_power.Tensor_Tensor"},
      {"aten.floor_divide_.Tensor", "aten.floor_divide.default"},
      {"aten.pow_.Scalar", "aten.pow.Tensor_Scalar"},
      {"aten.pow_.Tensor", "aten.pow.Tensor_Tensor"},
  };
  return table;
}

// "aten.add_.Tensor" -> "aten.add.Tensor", "aten.__iand__.Tensor" -> "aten.__and__.Tensor"
std::string pure_name(const std::string& name) {
  if (const auto renamed = renamed_ops().find(name); renamed != renamed_ops().end()) {
    return std::string(renamed->second);
  }
  const auto first = name.find('.');
  const auto second = name.rfind('.');
  if (first == std::string::npos || first == second) return "";
  const std::string space = name.substr(0, first + 1);
  std::string base = name.substr(first + 1, second - first - 1);
  const std::string overload = name.substr(second);
  if (base.starts_with("__i") && base.ends_with("__")) {
    return space + "__" + base.substr(3) + overload;
  }
  if (!base.ends_with("_")) return "";
  base.pop_back();
  return space + base + overload;
}

// The arguments of `node` under the names of the pure op's schema; what is written to stands first
// in both, as "self" or "input".
Arguments arguments_for(const Op& pure, const Node& node) {
  Arguments arguments;
  for (const SchemaArgument& wanted : pure.schema.arguments) {
    const int index = arguments.empty() ? 0 : node.op().schema.index_of(wanted.name);
    if (index >= 0) {
      arguments.push_back(node.argument(index));
    } else if (wanted.has_default) {
      arguments.push_back(wanted.default_value);
    } else {
      unsupported(node, "the pure form of this op wants an argument " + wanted.name);
    }
  }
  return arguments;
}

Value* build_pure(Builder& builder, const Op& pure, const Node& node, const Value* self) {
  Arguments arguments = arguments_for(pure, node);
  conform_arguments(pure, arguments);
  std::vector<Type> types;
  if (pure.result_types != nullptr) {
    types = pure.result_types(arguments);
  } else {
    types = {TensorType::contiguous(self->dtype(), self->sizes())};
  }
  Node* made = builder.graph().create_node(pure, std::move(arguments), std::move(types),
                                           builder.insertion_point());
  made->set_origin(node.origin());
  return made->result();
}

}  // namespace

int mutated_argument(const Node& node) {
  int found = -1;
  const auto& arguments = node.op().schema.arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].mutated || node.argument(static_cast<int>(i)).is_none()) continue;
    if (found >= 0) unsupported(node, "this op writes to several tensors");
    found = static_cast<int>(i);
  }
  if (found >= 0 && !node.argument(found).is_value()) {
    unsupported(node, "this op writes to a list of tensors");
  }
  return found;
}

Value* pure_result(Builder& builder, const Node& node, int mutated) {
  Value* self = node.input(mutated);
  Value* result = nullptr;
  if (const auto special = special_ops().find(node.op().name); special != special_ops().end()) {
    result = special->second(builder, node, self);
  } else {
    const std::string name = pure_name(node.op().name);
    const Op* pure = name.empty() ? nullptr : ops::find(name);
    if (pure == nullptr) unsupported(node, "there is no known pure form of this in-place op");
    result = build_pure(builder, *pure, node, self);
  }
  result = convert(builder, result, self->dtype());
  if (result->sizes().size() != self->sizes().size()) {
    unsupported(node, "this in-place op changes the sizes of what it writes to");
  }
  return result;
}

}  // namespace unfuse::passes
