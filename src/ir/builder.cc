#include "ir/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "unfuse/error.h"

namespace unfuse {
namespace {

[[noreturn]] void refuse(const Op& op, const std::string& message) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: {}", op.name, message));
}

std::string_view type_name(SchemaType type) {
  switch (type) {
    case SchemaType::kTensor:
      return "Tensor";
    case SchemaType::kScalar:
      return "Scalar";
    case SchemaType::kInt:
      return "int";
    case SchemaType::kFloat:
      return "float";
    case SchemaType::kBool:
      return "bool";
    case SchemaType::kString:
      return "str";
    case SchemaType::kDType:
      return "ScalarType";
    case SchemaType::kLayout:
      return "Layout";
    case SchemaType::kDevice:
      return "Device";
    case SchemaType::kMemoryFormat:
      return "MemoryFormat";
    case SchemaType::kGenerator:
      return "Generator";
    case SchemaType::kOther:
      break;
  }
  return "something else";
}

std::string describe(const SchemaArgument& wanted) {
  return fmt::format("{}{}{}{}", type_name(wanted.type), wanted.optional_elements ? "?" : "",
                     wanted.list ? "[]" : "", wanted.optional ? "?" : "");
}

void place_keyword(const Op& op, const KeywordArgument& keyword, Arguments& arguments,
                   std::vector<bool>& given) {
  const int index = op.schema.index_of(keyword.name);
  if (index < 0) refuse(op, fmt::format("has no argument \"{}\"", keyword.name));
  const auto place = static_cast<std::size_t>(index);
  if (given[place]) refuse(op, fmt::format("argument \"{}\" is given twice", keyword.name));
  arguments[place] = keyword.value;
  given[place] = true;
}

std::string place_of(const Op& op, const Origin& origin) {
  std::string text = op.name;
  if (!origin.module_path.empty()) text += " at " + origin.module_path;
  if (!origin.source.empty()) text += " (" + origin.source + ")";
  return text;
}

}  // namespace

Arguments complete_arguments(const Op& op, Arguments positional,
                             const std::vector<KeywordArgument>& keywords) {
  const std::vector<SchemaArgument>& wanted = op.schema.arguments;
  const auto positional_limit = static_cast<std::size_t>(
      std::count_if(wanted.begin(), wanted.end(),
                    [](const SchemaArgument& argument) { return !argument.keyword_only; }));
  if (positional.size() > positional_limit) {
    refuse(op, fmt::format("takes {} positional arguments, not {}", positional_limit,
                           positional.size()));
  }
  std::vector<bool> given(wanted.size(), false);
  std::fill_n(given.begin(), positional.size(), true);
  Arguments arguments = std::move(positional);
  arguments.resize(wanted.size());
  for (const KeywordArgument& keyword : keywords) place_keyword(op, keyword, arguments, given);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (given[i]) continue;
    if (!wanted[i].has_default) {
      refuse(op, fmt::format("argument \"{}\" is missing", wanted[i].name));
    }
    arguments[i] = wanted[i].default_value;
  }
  return arguments;
}

void conform_arguments(const Op& op, Arguments& arguments) {
  const std::vector<SchemaArgument>& wanted = op.schema.arguments;
  if (arguments.size() != wanted.size()) {
    refuse(op, fmt::format("has {} arguments, not {}", wanted.size(), arguments.size()));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::optional<Argument> conformed =
        conform_argument(wanted[i], arguments[i], op.traits.pointwise);
    if (!conformed) {
      refuse(op, fmt::format("argument \"{}\" is {}, which is no {}", wanted[i].name,
                             arguments[i].to_string(), describe(wanted[i])));
    }
    arguments[i] = std::move(*conformed);
  }
}

Builder::Builder(Graph& graph, Node* before) : graph_(&graph), before_(before) {
  if (before != nullptr) origin_ = before->origin();
}

Node* Builder::node(const Op& op, Arguments positional,
                    const std::vector<KeywordArgument>& keywords) {
  if (op.result_types == nullptr) {
    throw Error(ErrorKind::kInternal, fmt::format("{} has no result-type rule", op.name),
                place_of(op, origin_), "add one to its row in src/ops");
  }
  Arguments arguments = complete_arguments(op, std::move(positional), keywords);
  conform_arguments(op, arguments);
  std::vector<Type> types;
  try {
    types = op.result_types(arguments);
  } catch (const Error& error) {
    throw Error(error.kind(), error.message(), place_of(op, origin_), error.hint());
  }
  Node* made = graph_->create_node(op, std::move(arguments), std::move(types), before_);
  made->set_origin(origin_);
  return made;
}

Value* Builder::call(const Op& op, Arguments positional,
                     const std::vector<KeywordArgument>& keywords) {
  Node* made = node(op, std::move(positional), keywords);
  if (made->results().size() != 1) {
    throw Error(ErrorKind::kInternal,
                fmt::format("{} has {} results, not one", op.name, made->results().size()),
                place_of(op, origin_));
  }
  return made->result();
}

}  // namespace unfuse
