// Whether drafts leave a text as it is, and a hash by which the texts of two devices can be compared.
#pragma once

#include "report/record.h"
#include "skipstone/skipstone.hpp"

namespace cli::report {

/// Samples the same text twice, plainly and with drafts. `engine` has fixed_model().
Exactness measure_exactness(const skipstone::Engine& engine);

}  // namespace cli::report
