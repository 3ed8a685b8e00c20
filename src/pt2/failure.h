// How reading an archive fails.
#pragma once

#include <string>

namespace unfuse::pt2 {

/// What a reader of a damaged file can do about it.
inline constexpr const char* kDamagedHint =
    "the file is damaged: copy it again, or export and save the model again";

/// Throws Error (kInvalidFile) about `file`.
[[noreturn]] void fail(const std::string& file, const std::string& message,
                       const std::string& hint = kDamagedHint);

}  // namespace unfuse::pt2
