// A tiny model with the same weights on every device: a synthetic model's matrices depend on the device's weight layout.
#pragma once

#include <string>

namespace cli::report {

inline constexpr const char* fixed_model_name = "fixed-64:q8_0";

/// A complete GGUF file: Llama with four layers of width 64, Q8_0, and bytes as tokens. The same bytes each time.
std::string fixed_model();

}  // namespace cli::report
