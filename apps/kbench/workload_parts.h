// Parts of workloads, and the operations that are not in workload.cpp.
#pragma once

#include <string>

#include "kbench/workload.h"

namespace kbench {

inline constexpr double word = 4.0;
/// Of config_of().
inline constexpr std::uint32_t short_conv_layer = 1, delta_net_layer = 2, head_layer = 3;

std::string heads_text(const Sizes& sizes);
/// Without a matrix.
Workload one(std::string shape, const Dispatch& dispatch, double bytes, double flops);

/// Heads of values as many as those of queries, of keys as many as those of keys.
skipstone::model::GatedDeltaNet delta_net_of(const Sizes& sizes);

Workload short_conv(const Selector& select, const Request& request);
Workload recurrent_scan(const Selector& select, const Request& request);
Workload gated_norm(const Selector& select, const Request& request);
Workload store_record(const Selector& select, const Request& request);
Workload prediction_input(const Selector& select, const Request& request);

}  // namespace kbench
