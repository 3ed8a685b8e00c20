// Standard output: all that the command prints goes through here, so that none of it gets lost
// unnoticed.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace unfuse::cli {

/// Gives the standard streams that are closed a place to fail in, lets a file that grows beyond the
/// limit of this process be an error, not the end of it, and has an interrupted process leave no
/// half-written file. Call first of all.
void prepare_output();

/// From now on what is printed goes to standard error, should `output` be standard output: results
/// that are written there stand alone.
void print_beside(const std::string& output);

/// Prints to standard output; control characters but line feeds as printable() does. Throws
/// tensor_io::WriteError when it cannot be written, on a full disk say. That nobody reads it any
/// longer (a closed pipe) is no error: the rest is left out.
void write_out(std::string_view text);

/// The same for JSON, in ASCII: control characters are escaped as JSON has it.
void write_json(const nlohmann::ordered_json& json);

/// Throws Error (kInvalidArgument) where a file cannot be written to, as far as that can be told
/// before: a folder, a path in no folder.
void check_output_file(const std::string& path);

/// Writes what is still buffered, and throws as write_out() does. Call before the exit code is
/// given.
void flush_out();

}  // namespace unfuse::cli
