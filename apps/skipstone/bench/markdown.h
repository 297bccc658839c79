// The report for people.
#pragma once

#include <span>
#include <string>

#include "bench/report.h"
#include "bench/summary.h"

namespace cli::bench {

std::string markdown(const Sweep& sweep, std::span<const Summary> summaries, std::span<const Table> tables);

}  // namespace cli::bench
