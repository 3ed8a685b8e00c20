// The one exception type of the library.
#pragma once

#include <stdexcept>
#include <string>

namespace unfuse {

enum class ErrorKind {
  kInvalidArgument,  ///< A caller passed something wrong: an input's shape, an option, a path.
  kInvalidFile,      ///< A file is damaged, of the wrong kind, or of a version that is not read.
  kUnsupported,      ///< The model is valid, but holds something that this build cannot run.
  kInternal,         ///< A bug in unfuse.
};

/// Says what is wrong, where, and what to do. what() holds all three in one line.
class Error : public std::runtime_error {
 public:
  /// `where` is a file, a node with its module path and source line, or an input's name; may be
  /// empty. `hint` tells what to do; may be empty.
  Error(ErrorKind kind, const std::string& message, const std::string& where = "",
        const std::string& hint = "");

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const std::string& where() const { return where_; }
  const std::string& hint() const { return hint_; }

 private:
  ErrorKind kind_;
  std::string message_;
  std::string where_;
  std::string hint_;
};

}  // namespace unfuse
