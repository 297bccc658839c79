// Text inputs that are read to their end: the prompt and others, from a file or from standard input.
#pragma once

#include <string>

namespace cli {

/// `file`: a path, or "-" for standard input; `what` names it in sentences. Throws Failure if it cannot be read or is larger than any
/// context (64 MiB), or if a signal came.
std::string read_text(const std::string& file, const std::string& what);

/// The same for the prompt. One line end at its end is dropped, as editors and `echo` put it there.
std::string read_prompt(const std::string& file);

}  // namespace cli
