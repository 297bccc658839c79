// Which tensor types a model file has, in a line.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cli {

/// "F32 x 41, F16 x 141" from the "tensor_types" of a report.
std::string tensor_types_text(const nlohmann::ordered_json& types);

}  // namespace cli
