#include "passes/views.h"

#include "passes/canonical.h"
#include "unfuse/error.h"

namespace unfuse::passes {
namespace {

Value* replay_other(Builder& builder, const ViewStep& step, Value* base) {
  Arguments arguments = step.node->arguments();
  for (Argument& argument : arguments) {
    if (!argument.is_value()) continue;
    argument = base;
    break;
  }
  std::vector<Type> types;
  for (const Value* result : step.node->results()) types.push_back(result->type());
  Node* copy = builder.graph().create_node(step.node->op(), std::move(arguments), std::move(types),
                                           builder.insertion_point());
  copy->set_origin(step.node->origin());
  copy->set_import_index(step.node->import_index());
  return copy->result(step.result);
}

}  // namespace

Value* ViewStep::apply(Builder& builder, Value* base) const {
  switch (kind) {
    case Kind::kIdentity:
      return base;
    case Kind::kReshape:
      return reshape(builder, base, sizes);
    case Kind::kPermute:
      return permute(builder, base, order);
    case Kind::kExpand:
      return expand(builder, base, sizes);
    case Kind::kSlice:
      return slice(builder, base, dimension, start, end, step);
    case Kind::kSelect:
      return select(builder, base, dimension, start);
    case Kind::kDiagonal:
      return call(builder, "aten.diagonal.default", {base, order[0], order[1], order[2]});
    case Kind::kUnfold:
      return call(builder, "aten.unfold.default", {base, dimension, order[0], order[1]});
    case Kind::kBits:
      if (base->dtype() == dtype) return base;
      return call(builder, "aten.view.dtype", {base, dtype});
    case Kind::kOther:
      return replay_other(builder, *this, base);
  }
  throw Error(ErrorKind::kInternal, "a view of no kind");
}

bool ViewStep::writable() const {
  return kind != Kind::kExpand && kind != Kind::kUnfold && kind != Kind::kOther;
}

bool ViewStep::keeps_all_elements() const {
  return kind == Kind::kIdentity || kind == Kind::kReshape || kind == Kind::kPermute ||
         kind == Kind::kExpand;
}

Value* ViewStep::write(Builder& builder, Value* base, Value* written) const {
  switch (kind) {
    case Kind::kIdentity:
      return written;
    case Kind::kReshape:
      return reshape(builder, written, base->sizes());
    case Kind::kPermute: {
      std::vector<std::int64_t> inverse(order.size());
      for (std::size_t i = 0; i < order.size(); ++i) {
        inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
      }
      return permute(builder, written, inverse);
    }
    case Kind::kSlice: {
      const bool whole = start == Dim(0) && end == base->size(dimension) && step == Dim(1);
      if (whole) return written;
      return call(builder, "aten.slice_scatter.default",
                  {base, written, dimension, start, end, step});
    }
    case Kind::kSelect:
      return call(builder, "aten.select_scatter.default", {base, written, dimension, start});
    case Kind::kDiagonal:
      return call(builder, "aten.diagonal_scatter.default",
                  {base, written, order[0], order[1], order[2]});
    case Kind::kBits:
      if (base->dtype() == written->dtype()) return written;
      return call(builder, "aten.view.dtype", {written, base->dtype()});
    case Kind::kExpand: {
      while (written->rank() > base->rank()) written = select(builder, written, 0, 0);
      for (std::int64_t i = 0; i < base->rank(); ++i) {
        if (base->size(i) == Dim(1)) written = slice(builder, written, i, 0, 1);
      }
      return written;
    }
    case Kind::kUnfold:
    case Kind::kOther:
      break;
  }
  throw Error(ErrorKind::kInternal, "a view that cannot be written: " + name());
}

Value* viewed_base(Value* value) {
  for (;;) {
    const Node* node = value->producer();
    if (node == nullptr || !node->op().schema.aliases()) return value;
    const std::vector<Value*> operands = node->operands();
    if (operands.empty()) return value;
    value = operands.front();
  }
}

std::string ViewStep::name() const {
  switch (kind) {
    case Kind::kExpand:
      return "aten.expand.default";
    case Kind::kUnfold:
      return "aten.unfold.default";
    case Kind::kOther:
      return node->op().name;
    default:
      return "a view";
  }
}

}  // namespace unfuse::passes
