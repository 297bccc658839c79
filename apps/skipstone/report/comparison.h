// Records side by side: the tables and bars of `compare`, and of `report` for its own record.
#pragma once

#include <string>
#include <vector>

#include "report/record.h"
#include "results/charts.h"

namespace cli::report {

struct Source {
  std::string name;  ///< of the file
  Record record;
};

/// The first row is the header. All texts are safe to print.
struct Table {
  std::string caption;
  std::size_t left = 2;  ///< number of text columns; numbers follow
  std::vector<std::vector<std::string>> rows;
};

struct Comparison {
  std::vector<std::string> notes;
  std::vector<Table> tables;
  std::vector<Panel> panels;  ///< a group for each device
};

/// Compares all devices of all sources, in their order; duplicate records count once. Ratios are relative to the first device that has
/// the number.
Comparison compare(const std::vector<Source>& sources);

/// For a terminal: tables and notes.
std::string comparison_text(const Comparison& comparison);

/// A self-contained HTML page. Light, or dark if the reader prefers that. Runs no script and loads nothing.
std::string html_page(const Comparison& comparison);

}  // namespace cli::report
