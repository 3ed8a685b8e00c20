#include "cli/numbers.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "unfuse/error.h"

namespace unfuse::cli {
namespace {

bool is_negative(const std::string& text) { return text.starts_with('-'); }

/// A sign, if any, and digits.
bool is_whole(const std::string& text) {
  const std::size_t first = is_negative(text) || text.starts_with('+') ? 1 : 0;
  return text.size() > first && text.find_first_not_of("0123456789", first) == std::string::npos;
}

template <typename T>
T parse(const std::string& text, T minimum, T maximum, const std::string& where) {
  if (!is_whole(text)) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("'{}' is not a whole number", text),
                where);
  }
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  T value{};
  const bool fits = std::from_chars(begin, text.data() + text.size(), value).ec == std::errc();
  if (fits && value >= minimum && value <= maximum) return value;
  const bool too_small = fits ? value < minimum : is_negative(text);
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{} is too {}", text, too_small ? "small" : "large"), where,
              too_small ? fmt::format("at least {}", minimum) : fmt::format("at most {}", maximum));
}

}  // namespace

std::int64_t parse_whole(const std::string& text, const Range& range, const std::string& where) {
  return parse(text, range.minimum, range.maximum, where);
}

std::uint64_t parse_seed(const std::string& text, const std::string& where) {
  return parse(text, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(), where);
}

double parse_tolerance(const std::string& text, const std::string& where) {
  // strtod alone would take hexadecimal numbers, spaces, "nan" and "inf".
  const bool decimal =
      !text.empty() && text.find_first_not_of("0123456789+-.eE") == std::string::npos;
  char* end = nullptr;
  const double value = decimal ? std::strtod(text.c_str(), &end) : 0;
  if (decimal && *end == '\0' && std::isfinite(value) && value >= 0) return value;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("'{}' is not a finite number of 0 or more", text), where);
}

}  // namespace unfuse::cli
