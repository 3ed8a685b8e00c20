#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>

namespace unfuse::cli {
namespace {

constexpr const char* kClearLine = "\r\033[K";

bool on_terminal() {
  static const bool terminal = ::isatty(STDERR_FILENO) == 1;
  return terminal;
}

}  // namespace

void Progress::show(const std::string& text) {
  if (!on_terminal()) return;
  std::fprintf(stderr, "%s%s ...", kClearLine, text.c_str());
  std::fflush(stderr);
}

void Progress::clear() {
  if (on_terminal()) std::fputs(kClearLine, stderr);
}

}  // namespace unfuse::cli
