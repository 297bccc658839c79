// Measures a CostTable on a device.
#pragma once

#include <functional>

#include "exec/cost_table.h"
#include "exec/executor.h"

namespace skipstone::exec {

/// Increment when times are measured differently, so that no older table is used.
inline constexpr int cost_method = 3;

/// Runs passes of every row bucket up to STEP_VERIFY_ROWS, interleaved, and takes lower quartiles: device timestamps on GPUs, else the
/// host's clock. No pass costs less than one of fewer rows, no part more than the full pass. Waits for remote layers. The text is half of
/// the context, at most 512 tokens, of which only the positions matter: the sequence's contents are overwritten. `progress` gets 0..1;
/// throwing from it ends the measurement.
CostTable measure_costs(Executor& sequence, std::uint32_t layers, const std::function<void(double)>& progress);

/// Seconds of a pass of one token, after one that records it: an estimate for the others.
double time_of_one_row(Executor& sequence, std::uint32_t layers, const std::function<void(double)>& progress = {});

/// A CostTable from fewer measurements: passes of one token as measure_costs() takes them, of more rows only full passes, whose parts are
/// assumed to have the same shares as with one row. Each runs as often as `seconds` allow, and none begins after them; buckets that were
/// not reached are assumed to cost as much a row as the last one measured.
CostTable estimate_costs(Executor& sequence, std::uint32_t layers, double seconds, const std::function<void(double)>& progress);

}  // namespace skipstone::exec
