#include "unfuse/error.h"

namespace unfuse {
namespace {

std::string one_line(const std::string& message, const std::string& where,
                     const std::string& hint) {
  std::string text = where.empty() ? message : where + ": " + message;
  if (!hint.empty()) text += "; " + hint;
  return text;
}

}  // namespace

Error::Error(ErrorKind kind, const std::string& message, const std::string& where,
             const std::string& hint)
    : std::runtime_error(one_line(message, where, hint)),
      kind_(kind),
      message_(message),
      where_(where),
      hint_(hint) {}

}  // namespace unfuse
