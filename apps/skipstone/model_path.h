// The model that a command uses if none is named.
#pragma once

#include <string>

namespace cli {

/// The bundled model's path: next to the program, in the installation's data folder, or in the source tree that the program was
/// built in. Throws Failure if it is in none of them.
std::string bundled_model();

}  // namespace cli
