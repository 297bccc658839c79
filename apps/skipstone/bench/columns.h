// What can be said of a drafter, by name: every format of the report takes its fields from this one table.
#pragma once

#include <span>
#include <optional>
#include <string>
#include <string_view>

#include "bench/summary.h"
#include "json/json.h"

namespace cli::bench {

/// null of nothing.
skipstone::Json value_of(std::optional<double> number);

struct Column {
  std::string_view name;   ///< in CSV and JSON, e.g. "speedup_median"
  std::string_view title;  ///< in a table for people; "" where it is for programs alone
  /// null where it cannot be said, as the acceptance where nothing was drafted.
  skipstone::Json (*value)(const Summary& summary);
  std::string (*text)(const Summary& summary);  ///< for people; "-" where it cannot be said; null where there is no title
};

/// All of them, in the order of CSV and JSON.
std::span<const Column> columns();

/// Throws std::logic_error where there is none of that name: names stand in the program, not in anything read.
const Column& column(std::string_view name);

/// "76.9 %", or "-".
std::string percent(std::optional<double> share);

}  // namespace cli::bench
