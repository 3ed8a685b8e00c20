#include "cli/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace unfuse::cli {
namespace {

std::string scaled(double value, const char* unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  std::size_t step = 0;
  while (value >= 1000 && step + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++step;
  }
  return fmt::format("{:.{}f} {}{}", value, value < 10 ? 2 : 1, kPrefixes[step], unit);
}

}  // namespace

std::string describe_bytes(std::int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  return scaled(static_cast<double>(bytes), "B");
}

std::string describe_flops(std::int64_t flops) {
  if (flops < 1000) return fmt::format("{} FLOP", flops);
  return scaled(static_cast<double>(flops), "FLOP");
}

std::string describe_type(DType dtype, const std::vector<std::int64_t>& sizes) {
  return fmt::format("{}[{}]", dtype_name(dtype), fmt::join(sizes, ", "));
}

std::vector<std::int64_t> unravel(std::int64_t flat, const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> index(sizes.size());
  for (std::size_t i = sizes.size(); i-- > 0;) {
    index[i] = flat % sizes[i];
    flat /= sizes[i];
  }
  return index;
}

std::string describe_index(std::int64_t flat, const std::vector<std::int64_t>& sizes) {
  return fmt::format("[{}]", fmt::join(unravel(flat, sizes), ", "));
}

std::string describe_symbols(const std::map<std::string, std::int64_t>& values) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : values) parts.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string describe_place(const std::string& module_path, const std::string& source) {
  if (module_path.empty()) return source;
  return source.empty() ? module_path : fmt::format("{} ({})", module_path, source);
}

nlohmann::ordered_json left_as_json(const std::vector<LeftOp>& ops) {
  nlohmann::ordered_json left = nlohmann::ordered_json::array();
  for (const LeftOp& op : ops) {
    left.push_back({{"op", op.op},
                    {"count", op.count},
                    {"reason", op.reason},
                    {"module_path", op.module_path},
                    {"source", op.source}});
  }
  return left;
}

std::string describe_opening(const Report& report) {
  std::string text;
  for (const auto& [op, count] : report.opened) text += fmt::format("opened {} {}\n", count, op);
  if (report.opened.empty()) text += "opened nothing\n";
  for (const LeftOp& left : report.left_to_torch) {
    const std::string place = describe_place(left.module_path, left.source);
    text += fmt::format("left {} {}{}: {}\n", left.count, left.op,
                        place.empty() ? "" : ", first at " + place, left.reason);
  }
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  return text;
}

nlohmann::ordered_json opening_as_json(const Report& report) {
  return {{"opened", report.opened},
          {"left", left_as_json(report.left_to_torch)},
          {"notes", report.notes}};
}

nlohmann::ordered_json report_as_json(const Report& report) {
  return {{"graphs", report.graphs},
          {"graph_breaks", report.graph_breaks},
          {"partitions", report.partitions},
          {"opened", report.opened},
          {"left_to_torch", left_as_json(report.left_to_torch)},
          {"notes", report.notes}};
}

std::string Table::text(int indent) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string lines;
  for (const auto& row : rows_) {
    std::string line(static_cast<std::size_t>(indent), ' ');
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    lines += line + "\n";
  }
  return lines;
}

}  // namespace unfuse::cli
