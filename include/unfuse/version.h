#pragma once

namespace unfuse {

/// "MAJOR.MINOR.PATCH" of the library that was linked.
const char* version();

}  // namespace unfuse
