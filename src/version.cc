#include "unfuse/version.h"

namespace unfuse {

const char* version() { return UNFUSE_VERSION; }

}  // namespace unfuse
