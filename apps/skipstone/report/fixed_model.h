// A tiny model with the same weights on every device: those of synthetic models lie where a device wants them, so that its matrices differ.
#pragma once

#include <string>

namespace cli::report {

inline constexpr const char* fixed_model_name = "fixed-64:q8_0";

/// A whole GGUF file: Llama with four layers of 64, Q8_0, and bytes as tokens. The same bytes each time.
std::string fixed_model();

}  // namespace cli::report
