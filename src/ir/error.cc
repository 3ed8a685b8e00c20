#include "unfuse/error.h"

#include "ir/printable.h"

namespace unfuse {
namespace {

// Files may hold names of any length, and of any characters.
std::string safe(const std::string& part) {
  constexpr std::size_t kLongest = 8000;
  return printable(shortened(part, kLongest));
}

std::string one_line(const std::string& message, const std::string& where,
                     const std::string& hint) {
  std::string text = where.empty() ? message : where + ": " + message;
  if (!hint.empty()) text += "; " + hint;
  return text;
}

}  // namespace

Error::Error(ErrorKind kind, const std::string& message, const std::string& where,
             const std::string& hint)
    : std::runtime_error(one_line(safe(message), safe(where), safe(hint))),
      kind_(kind),
      message_(safe(message)),
      where_(safe(where)),
      hint_(safe(hint)) {}

}  // namespace unfuse
