// A check that drafts do not change a text, and a hash to compare the texts of two devices.
#pragma once

#include "report/record.h"
#include "skipstone/skipstone.hpp"

namespace cli::report {

/// Samples the same text twice, by plain decoding and with drafts. `engine` has fixed_model().
Exactness measure_exactness(const skipstone::Engine& engine);

}  // namespace cli::report
