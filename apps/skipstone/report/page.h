// A comparison as a page of HTML that needs nothing besides.
#pragma once

#include <string>

#include "report/comparison.h"

namespace cli::report {

/// Light, and dark where the reader prefers that. Runs no script and loads nothing.
std::string html_page(const Comparison& comparison);

}  // namespace cli::report
