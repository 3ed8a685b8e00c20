#include "pt2/failure.h"

#include "unfuse/error.h"

namespace unfuse::pt2 {

void fail(const std::string& file, const std::string& message, const std::string& hint) {
  throw Error(ErrorKind::kInvalidFile, message, file, hint);
}

}  // namespace unfuse::pt2
