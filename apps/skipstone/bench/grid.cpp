#include "bench/grid.h"

#include <fmt/format.h>

#include <algorithm>

namespace cli::bench {
namespace {

/// The width in characters, not bytes: "±" is one.
std::size_t text_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string cell(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|') safe += '\\';
    safe += c == '\n' || c == '\r' ? ' ' : c;
  }
  return safe;
}

std::string grid(const std::vector<std::vector<std::string>>& rows, std::size_t left) {
  std::vector<std::size_t> widths(rows.front().size(), 3);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], text_width(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    text += '|';
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - text_width(row[i]), ' ');
      text += i < left ? fmt::format(" {}{} |", row[i], padding) : fmt::format(" {}{} |", padding, row[i]);
    }
    text += '\n';
    if (&row != &rows.front()) continue;
    text += '|';
    for (std::size_t i = 0; i < row.size(); ++i)
      text += fmt::format(" {:-<{}}{} |", "", widths[i] - (i < left ? 0 : 1), i < left ? "" : ":");
    text += '\n';
  }
  return text;
}

}  // namespace cli::bench
