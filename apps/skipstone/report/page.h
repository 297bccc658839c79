// A comparison as a self-contained HTML page.
#pragma once

#include <string>

#include "report/comparison.h"

namespace cli::report {

/// Light, or dark if the reader prefers that. Runs no script and loads nothing.
std::string html_page(const Comparison& comparison);

}  // namespace cli::report
