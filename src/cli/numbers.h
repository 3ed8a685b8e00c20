// Numbers as people write them on the command line.
#pragma once

#include <cstdint>
#include <string>

#include "ir/dim.h"

namespace unfuse::cli {

/// A whole number in decimal digits. `where` names it in errors: "--threads". Throws Error
/// (kInvalidArgument) that says whether `text` is no such number, too small or too large.
std::int64_t parse_whole(const std::string& text, const Range& range, const std::string& where);

/// The same, of 0 to 2^64 - 1.
std::uint64_t parse_seed(const std::string& text, const std::string& where);

/// A decimal number, finite and not negative: "1e-4".
double parse_tolerance(const std::string& text, const std::string& where);

}  // namespace unfuse::cli
