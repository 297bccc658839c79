// The numerics contract of decoding on matrix units: a column's sums do not depend on the contents of the columns beside it.
#pragma once

#include <cstdint>
#include <string>

#include "gguf/traits.h"
#include "selftest/bench.h"

namespace skipstone::selftest {

/// One row of x at every place of passes of 1 to `most` rows; the rows beside it, and the leftovers of older passes past them, are zeros,
/// numbers, huge numbers, infinities or NaNs. "" where its products have the bits that they have alone, and are near the scalar
/// reference's; else what differs. The device and the build have to have matrices (kernels::Selector::has_matrices).
std::string check_matrix_columns(Bench& bench, gguf::Type format, std::uint32_t most);

}  // namespace skipstone::selftest
