// What may be written where: an output must be no folder, none of the inputs, a new file unless it may be replaced, and in a folder that
// takes it.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace skipstone::gguf {
class File;
}

namespace skipstone::convert {

/// The files that a model consists of, the one that was opened among them.
std::vector<std::string> parts_of(const gguf::File& model);

/// Throws invalid_argument, saying what to do, and io where the file cannot be made: before the work whose result it is for.
void check_output(const std::string& output, std::span<const std::string> inputs, bool overwrite);

}  // namespace skipstone::convert
