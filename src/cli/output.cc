#include "cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "ir/printable.h"
#include "tensor_io/files.h"
#include "unfuse/error.h"

namespace unfuse::cli {
namespace {

std::FILE* printed_to = stdout;

void check(bool good) {
  static bool reader_has_gone = false;
  if (good || reader_has_gone) return;
  const int error = errno;
  // Where SIGPIPE is ignored; elsewhere it has ended the process, as quietly.
  reader_has_gone = error == EPIPE;
  if (!reader_has_gone) throw tensor_io::WriteError("standard output", error);
}

}  // namespace

void prepare_output() {
  // A file that is opened while a standard stream is closed would take that stream's place, and get
  // what is printed. Opened the wrong way round, so that using the stream fails.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
  std::signal(SIGXFSZ, SIG_IGN);
  tensor_io::remove_unfinished_file_on_signals();
}

void print_beside(const std::string& output) {
  if (tensor_io::is_standard_output(output)) printed_to = stderr;
}

void write_out(std::string_view text) {
  const std::string safe = printable(text, true);
  if (safe.empty()) return;
  check(std::fwrite(safe.data(), 1, safe.size(), printed_to) == safe.size());
}

void write_json(const nlohmann::ordered_json& json) {
  constexpr int kIndent = 2;
  write_out(json.dump(kIndent, ' ', true) + "\n");
}

void flush_out() { check(std::fflush(stdout) == 0); }

void check_output_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    throw Error(ErrorKind::kInvalidArgument, "is a folder", path, "name a file");
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty() || std::filesystem::is_directory(folder)) return;
  throw Error(ErrorKind::kInvalidArgument, "there is no folder " + folder.string(), path);
}

}  // namespace unfuse::cli
