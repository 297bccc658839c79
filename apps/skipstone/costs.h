// The output of `devices --costs`.
#pragma once

#include <string>

#include "engine_options.h"

namespace cli {

/// Loads the model and prints the costs of its passes on the device, as a table or as JSON. `model`: "" for the bundled one.
void print_costs(const std::string& model, const EngineOptions& options, bool json);

}  // namespace cli
