// Measures a CostTable on a device.
#pragma once

#include <functional>

#include "exec/cost_table.h"
#include "exec/executor.h"

namespace skipstone::exec {

/// To be counted up where times are taken otherwise, so that no table of before is mistaken for one of now.
inline constexpr int cost_method = 3;

/// Runs passes of every row bucket up to STEP_VERIFY_ROWS, interleaved, and takes lower quartiles: device timestamps on GPUs, else the
/// host's clock. No pass comes out cheaper than one of fewer rows, no part dearer than its whole. Layers on other devices are waited for.
/// The text is half of the context, at most 512 tokens, of which only the positions matter: what the sequence held is overwritten.
/// `progress` gets 0..1; throwing from it ends the measurement.
CostTable measure_costs(Executor& sequence, std::uint32_t layers, const std::function<void(double)>& progress);

/// Seconds of a pass of one token, after one that records it: what to expect of the others.
double time_of_one_row(Executor& sequence, std::uint32_t layers, const std::function<void(double)>& progress = {});

/// A CostTable of less: passes of one token as measure_costs() takes them, of more rows whole ones alone, whose parts are taken to have the
/// shares that they have with one. Each is run as often as `seconds` allow, and nothing begins after them; buckets that it has not come to
/// are taken to cost a row as much as the last one did.
CostTable estimate_costs(Executor& sequence, std::uint32_t layers, double seconds, const std::function<void(double)>& progress);

}  // namespace skipstone::exec
