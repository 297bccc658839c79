#include "results/fitted_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/escape.h"
#include "base/platform/console.h"
#include "results/formats.h"
#include "terminal/wrap.h"

namespace cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t width_of_pipes = 100;

std::size_t first_line_width(std::string_view text) { return skipstone::characters(text.substr(0, text.find('\n'))); }

/// The keys, and the columns from `first` up to `end`.
Rows part_of(const Rows& rows, std::size_t keys, std::size_t first, std::size_t end) {
  Rows part;
  for (const auto& row : rows) {
    auto& of_part = part.emplace_back(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(keys));
    of_part.insert(of_part.end(), row.begin() + static_cast<std::ptrdiff_t>(first), row.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return part;
}

/// A paragraph for each row: its keys, then a line for each other column.
std::string list(const Rows& rows, std::size_t keys, std::size_t width) {
  std::string text;
  for (std::size_t row = 1; row < rows.size(); ++row) {
    std::string name;
    for (std::size_t i = 0; i < keys; ++i) name += (name.empty() ? "" : " ") + rows[row][i];
    text += wrap(name, width, 0, 2) + "\n";
    for (std::size_t i = keys; i < rows[row].size(); ++i) text += wrap("- " + rows[0][i] + ": " + rows[row][i], width, 0, 4) + "\n";
  }
  return text;
}

}  // namespace

std::size_t output_width() {
  const std::size_t columns = skipstone::platform::columns(skipstone::platform::Stream::output);
  return columns == 0 ? width_of_pipes : columns;
}

std::string fitted_grid(const Rows& rows, GridColumns columns, std::size_t width) {
  const std::size_t keys = columns.keys, all = rows.front().size();
  const auto drawn = [&](std::size_t first, std::size_t end) {
    const std::size_t left = std::clamp(columns.left, first, end) - first;
    return grid(part_of(rows, keys, first, end), keys + left);
  };
  std::string text;
  for (std::size_t first = keys, end; first < all; first = end) {
    end = all;
    while (end > first + 1 && first_line_width(drawn(first, end)) > width) --end;
    std::string part = drawn(first, end);
    if (first_line_width(part) > width) return list(rows, keys, width);
    text += (text.empty() ? "" : "\n") + part;
  }
  return text;
}

std::string cut(const std::string& text, std::size_t most) {
  return fmt::format("{:.{}}", text, most) == text ? text : fmt::format("{:.{}}...", text, most - 3);
}

}  // namespace cli
