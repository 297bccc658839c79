// Records side by side: the tables and bars of `compare`, and of `report` for its own record.
#pragma once

#include <string>
#include <vector>

#include "report/record.h"

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

/// A device's bars.
struct BarGroup {
  std::string label;
  std::vector<double> values;  ///< one for each of Panel::series; NAN if absent
};

/// Bars of one kind: groups of devices, each with a bar for each of the series.
struct Panel {
  std::string title, unit;
  std::vector<std::string> series;  ///< a single one needs no name
  std::vector<BarGroup> groups;
  double reference = 0;  ///< value of a reference line; 0: none
};

struct Comparison {
  std::vector<std::string> notes;
  std::vector<Table> tables;
  std::vector<Panel> panels;
};

/// Compares all devices of all sources, in their order; duplicate records count once. Ratios are relative to the first device that has
/// the number.
Comparison compare(const std::vector<Source>& sources);

/// For a terminal: tables and notes.
std::string comparison_text(const Comparison& comparison);

}  // namespace cli::report
