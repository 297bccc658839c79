// The prompt: from -p, from a file, from standard input.
#pragma once

#include <string>

namespace cli {

/// `file`: a path, or "-" for standard input. One line end at its end is dropped, as editors and `echo` put it there.
/// Throws Failure where it cannot be read or is larger than any context (64 MiB), or where a signal came.
std::string read_prompt(const std::string& file);

}  // namespace cli
