#include "ir/printable.h"

#include <fmt/format.h>

namespace unfuse {
namespace {

bool is_control(unsigned char byte) { return byte < 0x20 || byte == 0x7f; }

/// U+0080 to U+009F in UTF-8: terminals take them for control characters as well.
bool is_wide_control(std::string_view text, std::size_t index) {
  if (index + 1 >= text.size() || static_cast<unsigned char>(text[index]) != 0xc2) return false;
  const auto second = static_cast<unsigned char>(text[index + 1]);
  return second >= 0x80 && second <= 0x9f;
}

}  // namespace

std::string printable(std::string_view text, bool keep_line_feeds) {
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool kept = keep_line_feeds && byte == '\n';
    if (is_wide_control(text, i)) {
      safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    } else if (is_control(byte) && !kept) {
      safe += fmt::format("\\x{:02x}", byte);
    } else {
      safe += text[i];
    }
  }
  return safe;
}

std::string shortened(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  const auto continues = [&](std::size_t index) {
    return (static_cast<unsigned char>(text[index]) & 0xc0U) == 0x80U;
  };
  std::size_t end = bytes;
  while (end > 0 && continues(end)) --end;
  return fmt::format("{}... ({} more bytes)", text.substr(0, end), text.size() - end);
}

}  // namespace unfuse
