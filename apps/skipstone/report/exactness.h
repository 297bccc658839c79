// Whether drafts leave a text as it is, and a hash by which the texts of two devices can be compared.
#pragma once

#include "report/record.h"
#include "skipstone/skipstone.hpp"

namespace cli::report {

/// Samples the same text from a synthetic model twice, plainly and with drafts.
Exactness measure_exactness(const skipstone::Engine& engine, const std::string& model);

}  // namespace cli::report
