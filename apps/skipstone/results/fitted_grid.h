// Tables for people, no wider than the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cli {

/// The columns of the terminal that standard output is; 100 where there is none.
std::size_t output_width();

struct GridColumns {
  std::size_t left = 1;  ///< that are aligned to the left, as for grid()
  std::size_t keys = 1;  ///< that say what a row is about: each part of a table that is split begins with them
};

/// grid() in at most `width` columns. A table that is wider is split into several below each other, with as many columns as fit; where the
/// keys and one more do not fit, each row is a list of its columns instead. The first row is the header.
std::string fitted_grid(const std::vector<std::vector<std::string>>& rows, GridColumns columns, std::size_t width);

/// At most `most` characters of a text; "..." is for the rest.
std::string cut(const std::string& text, std::size_t most);

}  // namespace cli
