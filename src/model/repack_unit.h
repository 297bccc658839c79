// One unit of each weight format in the device's layout.
#pragma once

#include <cstddef>

#include "gguf/traits.h"

namespace skipstone::model {

/// Writes one block of the file as one unit: to plane 0 and plane 1, as many bytes as the format's row in kernels/weight_format.cpp says.
using RepackUnit = void (*)(const std::byte* block, std::byte* quants, std::byte* scales);

/// nullptr for F32, F16 and BF16, whose rows are copied.
RepackUnit repack_unit(gguf::Type type);

}  // namespace skipstone::model
