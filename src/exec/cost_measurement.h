// Measures a CostTable on a device.
#pragma once

#include <functional>

#include "exec/cost_table.h"
#include "exec/executor.h"

namespace skipstone::exec {

/// Runs passes of every row bucket up to STEP_VERIFY_ROWS, interleaved, and takes medians: device timestamps on GPUs, else the host's
/// clock. The text is half of the context, at most 512 tokens, of which only the positions matter: what the sequence held is overwritten.
/// `progress` gets 0..1; throwing from it ends the measurement.
CostTable measure_costs(Executor& sequence, std::uint32_t layers, const std::function<void(double)>& progress);

}  // namespace skipstone::exec
