// Numbers, types and reports as people and programs read them.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "unfuse/report.h"
#include "unfuse/tensor.h"

namespace unfuse::cli {

/// "1.5 MB", "12 bytes": powers of 1000.
std::string describe_bytes(std::int64_t bytes);
/// "2.4 GFLOP".
std::string describe_flops(std::int64_t flops);
/// "float32[2, 5, 16]".
std::string describe_type(DType dtype, const std::vector<std::int64_t>& sizes);
/// The index of the element that is `flat`th in row-major order, and that as "[0, 3]".
std::vector<std::int64_t> unravel(std::int64_t flat, const std::vector<std::int64_t>& sizes);
std::string describe_index(std::int64_t flat, const std::vector<std::int64_t>& sizes);

/// "s0=8, s1=128".
std::string describe_symbols(const std::map<std::string, std::int64_t>& values);

/// "module.path (file.py:3)", or as much of it as is known.
std::string describe_place(const std::string& module_path, const std::string& source);

/// As the list that report_as_json() has of them.
nlohmann::ordered_json left_as_json(const std::vector<LeftOp>& ops);

/// What became of a model on its way to another file, a line each: "opened 2 aten.X", "left 1 ...",
/// "note: ...".
std::string describe_opening(const Report& report);

/// The same: the keys opened, left and notes.
nlohmann::ordered_json opening_as_json(const Report& report);

/// The keys that unfuse.explain(...).as_dict() has in Python.
nlohmann::ordered_json report_as_json(const Report& report);

/// Lines of columns, each as wide as its widest cell.
class Table {
 public:
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Every line begins with `indent` spaces.
  std::string text(int indent) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace unfuse::cli
