// Which model a command takes where none is named.
#pragma once

#include <string>

namespace cli {

/// The bundled model's path, looked for beside the program, where an installation has it, and in the source tree that the program was
/// built in. Throws Failure where it is in none of them.
std::string bundled_model();

}  // namespace cli
