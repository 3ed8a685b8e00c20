// A line on the terminal that says what takes so long.
#pragma once

#include <string>

namespace unfuse::cli {

/// Shows a line on standard error while it lives; nothing at all where that is no terminal.
class Progress {
 public:
  explicit Progress(const std::string& text) { show(text); }
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Replaces the line.
  void show(const std::string& text);
  /// Takes the line away, before results are printed.
  void clear();
};

}  // namespace unfuse::cli
