// Markdown tables that are readable as plain text.
#pragma once

#include <string>
#include <vector>

namespace cli::bench {

/// Escapes untrusted text for a cell, so that it ends neither the cell nor the line.
std::string cell(const std::string& text);

/// Columns padded to their width; the first `left` ones left-aligned, the others to the right. The first row is the header.
std::string grid(const std::vector<std::vector<std::string>>& rows, std::size_t left = 1);

}  // namespace cli::bench
