// Texts about tensor types: those of a model file, and those that files can be written in.
#pragma once

#include <string>

#include "json/json_fwd.h"

namespace cli {

/// "F32 x 41, F16 x 141" from the "tensor_types" of a report.
std::string tensor_types_text(const skipstone::Json& types);

/// The `--help` text about the types that files can be written in, with their bits per weight.
extern const char* const tensor_types_help;

}  // namespace cli
