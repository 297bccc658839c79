// The named results of a drafter: every format of the report takes its fields from this one table.
#pragma once

#include <span>
#include <optional>
#include <string>
#include <string_view>

#include "bench/summary.h"
#include "json/json.h"

namespace cli::bench {

/// null of nullopt.
skipstone::Json value_of(std::optional<double> number);

struct Column {
  std::string_view name;   ///< in CSV and JSON, e.g. "speedup_median"
  std::string_view title;  ///< in a table for people; "" if it is for programs only
  /// null if undefined, as the acceptance without drafts.
  skipstone::Json (*value)(const Summary& summary);
  std::string (*text)(const Summary& summary);  ///< for people; "-" if undefined; null without a title
};

/// All columns, in the order of CSV and JSON.
std::span<const Column> columns();

/// Throws std::logic_error if no column has that name: names are constants of the program, not input.
const Column& column(std::string_view name);

/// "76.9 %", or "-".
std::string percent(std::optional<double> share);

}  // namespace cli::bench
