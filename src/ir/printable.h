// Text from files, as people may safely see it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace unfuse {

/// Control characters as "\x1b": a name in a file may hold what a terminal would obey. Line feeds
/// too, unless they are to stay.
std::string printable(std::string_view text, bool keep_line_feeds = false);

/// At most about `bytes` of it, with the end left out; valid UTF-8 stays valid.
std::string shortened(std::string_view text, std::size_t bytes);

}  // namespace unfuse
