// Weights that a type cannot hold.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "gguf/traits.h"

namespace skipstone::convert {

/// Throws bad_file for a weight that is not a finite number, unsupported for one beyond what `type` holds; both name file, tensor and row.
void check_weights(std::span<const float> weights, gguf::Type type, std::string_view path, std::string_view tensor, std::uint64_t row);

}  // namespace skipstone::convert
