// Bars as SVG.
#pragma once

#include <span>
#include <string>

#include "report/comparison.h"

namespace cli::report {

/// What means something to XML and HTML, and quotes, as entities.
std::string markup(std::string_view text);

/// The rules for the classes that svg() uses: light, and dark where the reader prefers that.
extern const char* const bar_style;

/// Panels below each other, as a document of its own: with its style, and with a name for those who do not see it.
std::string bars_document(std::span<const Panel> panels);

/// One panel for a page that has `bar_style`, without its title.
std::string bars_element(const Panel& panel);

}  // namespace cli::report
