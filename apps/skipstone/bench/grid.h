// Tables of markdown that can be read as they are.
#pragma once

#include <string>
#include <vector>

namespace cli::bench {

/// Text from outside made safe for a cell: it ends neither the cell nor the line.
std::string cell(const std::string& text);

/// Columns padded to their width; the first `left` ones left-aligned, the others to the right. The first row is the header.
std::string grid(const std::vector<std::vector<std::string>>& rows, std::size_t left = 1);

}  // namespace cli::bench
