// Where a node comes from, by the metadata that the exporter records.
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"
#include "pt2/json_reading.h"

namespace unfuse::pt2 {

/// From the "metadata" of a node; what is absent or cannot be read is left empty.
Origin read_origin(const Json& metadata);

/// "encoder.layers.0" of "L__self__,,m.Model;L__self__encoder,encoder,m.Encoder;...": the path of
/// the innermost module, "" for the model itself.
std::string module_path(const std::string& nn_module_stack);

/// Adds the modules of such a stack to `classes`: "encoder" -> "m.Encoder".
void collect_modules(const std::string& nn_module_stack,
                     std::map<std::string, std::string>& classes);

/// "model.py:41" of a Python traceback: the innermost frame that is neither torch's own nor
/// generated code. Empty when there is none.
std::string user_source(const std::string& stack_trace);

}  // namespace unfuse::pt2
