// Bars as SVG.
#pragma once

#include <span>
#include <string>

#include "report/comparison.h"

namespace cli::report {

/// Escapes XML and HTML special characters and quotes as entities.
std::string markup(std::string_view text);

/// CSS rules for the classes that svg() uses: light, or dark if the reader prefers that.
extern const char* const bar_style;

/// Panels below each other as a standalone document with its style and an accessible label.
std::string bars_document(std::span<const Panel> panels);

/// One panel for a page that has `bar_style`, without its title.
std::string bars_element(const Panel& panel);

}  // namespace cli::report
