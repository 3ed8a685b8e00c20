// A profile as a table.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "program/recording.h"

namespace unfuse::program {
namespace {

using Cells = std::vector<std::string>;

/// Lines of columns, each as wide as its widest cell; numbers stand at the right of theirs.
std::string aligned(const std::vector<Cells>& rows, const std::vector<bool>& is_number) {
  std::vector<std::size_t> widths(is_number.size(), 0);
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += is_number[i] ? fmt::format("{:>{}}  ", row[i], widths[i])
                           : fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

/// "72% FLOP/s": of the limit that is nearer.
std::string share_of_limit(const ProfileRow& row, const MachineLimits& limits) {
  double least = (row.flops - row.bfloat16_flops) / limits.flops_per_second;
  if (row.bfloat16_flops > 0) least += row.bfloat16_flops / limits.bfloat16_flops_per_second;
  const double arithmetic = least / row.seconds;
  const double memory = row.bytes / row.seconds / limits.bytes_per_second;
  if (!(arithmetic > 0) && !(memory > 0)) return "";
  return arithmetic >= memory ? fmt::format("{:.0f}% FLOP/s", 100 * arithmetic)
                              : fmt::format("{:.0f}% B/s", 100 * memory);
}

std::string rate(double amount, double seconds) {
  return amount > 0 && seconds > 0 ? fmt::format("{:.1f}", amount / seconds / 1e9) : "";
}

Cells cells_of(const ProfileRow& row, const Profile& profile, double total, ProfileBy by) {
  const auto runs = static_cast<double>(std::max<std::int64_t>(profile.runs(), 1));
  Cells cells = {row.op,
                 fmt::format("{:g}", static_cast<double>(row.calls) / runs),
                 fmt::format("{:.3f}", 1e3 * row.seconds / runs),
                 fmt::format("{:.1f}%", total > 0 ? 100 * row.seconds / total : 0),
                 rate(row.flops, row.seconds),
                 rate(row.bytes, row.seconds),
                 row.seconds > 0 ? share_of_limit(row, profile.limits()) : ""};
  if (by == ProfileBy::kNode) {
    cells.insert(cells.end(), {row.node, row.module_path, row.source});
  }
  return cells;
}

}  // namespace

std::string profile_table(const Profile& profile, ProfileBy by, int threads) {
  std::vector<ProfileRow> rows = profile.rows(by);
  double calls = 0;
  for (const ProfileRow& row : rows) calls += row.seconds;
  // Calls into torch lie outside of the runs.
  const double total = std::max(profile.seconds(), calls);
  ProfileRow between;
  between.op = "between calls";
  between.seconds = total - calls;

  std::vector<Cells> table = {{"op", "calls", "ms", "share", "GFLOP/s", "GB/s", "of the limit"}};
  std::vector<bool> is_number = {false, true, true, true, true, true, true};
  if (by == ProfileBy::kNode) {
    table[0].insert(table[0].end(), {"node", "module", "source"});
    is_number.resize(table[0].size(), false);
  }
  for (const ProfileRow& row : rows) table.push_back(cells_of(row, profile, total, by));
  table.push_back(cells_of(between, profile, total, by));
  table.back()[1].clear();

  const auto runs = static_cast<double>(std::max<std::int64_t>(profile.runs(), 1));
  const bool is_narrow = std::any_of(rows.begin(), rows.end(),
                                     [](const ProfileRow& row) { return row.bfloat16_flops > 0; });
  const MachineLimits& limits = profile.limits();
  return fmt::format(
      "{} run{} of {:.3f} ms; limits of {} thread{}: {:.1f} GFLOP/s{}, {:.1f} GB/s\n{}",
      profile.runs(), profile.runs() == 1 ? "" : "s", 1e3 * total / runs, threads,
      threads == 1 ? "" : "s", limits.flops_per_second / 1e9,
      is_narrow ? fmt::format(" ({:.1f} in bfloat16)", limits.bfloat16_flops_per_second / 1e9) : "",
      limits.bytes_per_second / 1e9, aligned(table, is_number));
}

}  // namespace unfuse::program
