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
  std::vector<std::string> conclusions;  ///< sentences, as all that follow
  std::vector<std::string> warnings;     ///< of devices whose numbers are too noisy to compare
  std::vector<std::string> notes;
  std::vector<Table> tables;
  std::vector<Panel> panels;  ///< a group for each device
};

/// Compares all devices of all sources, in their order; duplicate records count once. Ratios are relative to the first device that has
/// the number.
Comparison compare(const std::vector<Source>& sources);

/// In lines of at most `width` columns: conclusions and warnings, tables, notes.
std::string comparison_text(const Comparison& comparison, std::size_t width);

/// All of it for programs, with the numbers as the records have them. docs/reports.md has the fields.
Json comparison_json(const std::vector<Source>& sources);

/// A self-contained HTML page. Light, or dark if the reader prefers that. Runs no script and loads nothing.
std::string html_page(const Comparison& comparison);

}  // namespace cli::report
