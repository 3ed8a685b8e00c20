// Arguments and types as the export schema writes them.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "ir/argument.h"
#include "ir/graph.h"
#include "pt2/size_export.h"

namespace unfuse::pt2 {

/// How an argument's values and symbolic ints are called.
struct NameSource {
  std::function<std::string(const Value*)> value;
  std::function<std::string(const Dim&)> number;
};

/// {"as_tensor": {"name": "x"}}, {"as_ints": [1, 2]} and so on. `declared` tells what a list
/// without elements is a list of; it may be null. Throws Error (kUnsupported) for what a file
/// cannot hold.
nlohmann::ordered_json export_argument(const Argument& argument, const SchemaArgument* declared,
                                       const NameSource& names);

/// {"dtype": 7, "sizes": [...], ...}
nlohmann::ordered_json export_tensor_meta(const TensorType& type, const SizeExporter& sizes,
                                          bool requires_grad);

/// {"as_tensor": {"name": "x"}}, or what suits a value of another type.
nlohmann::ordered_json export_name(const Value& value, const std::string& name);

}  // namespace unfuse::pt2
