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

Workload route(const Selector& select, const Request& request);
Workload group_experts(const Selector& select, const Request& request);
Workload experts(const Selector& select, const Request& request);
Workload combine_experts(const Selector& select, const Request& request);
/// The experts of the config_of() sizes.
skipstone::model::Experts experts_of(const Sizes& sizes);
/// A matrix with a model matrix's layout, split into parts of a multiple of `whole` rows if one binding cannot cover it.
skipstone::kernels::Matrix matrix_of(const Selector& select, skipstone::gguf::Type format, std::uint32_t n, std::uint32_t k,
                                     std::uint32_t whole = 1024);

}  // namespace kbench
