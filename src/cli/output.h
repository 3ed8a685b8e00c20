// Standard output: all that the command prints goes through here, so that none of it gets lost
// unnoticed.
#pragma once

#include <string_view>

namespace unfuse::cli {

/// Gives the standard streams that are closed a place to fail in, and lets a file that grows beyond
/// the limit of this process be an error, not the end of it. Call first of all.
void prepare_streams();

/// Prints to standard output; control characters but line feeds as printable() does. Throws
/// tensor_io::WriteError when it cannot be written, on a full disk say. That nobody reads it any
/// longer (a closed pipe) is no error: the rest is left out.
void write_out(std::string_view text);

/// Writes what is still buffered, and throws as write_out() does. Call before the exit code is
/// given.
void flush_out();

}  // namespace unfuse::cli
