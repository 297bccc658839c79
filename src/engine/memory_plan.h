// Planning a model's memory before anything is allocated.
#pragma once

#include "engine/engine.h"
#include "exec/pass_builder.h"
#include "model/weight_layout.h"
#include "vk/device.h"

namespace skipstone::engine {

/// The context to use: `asked`, or the model's training context but at most 4096. Throws invalid_argument above 2^20.
std::uint32_t choose_context(const model::Config& config, std::uint32_t asked);

/// Throws invalid_argument for a context above 2^20, and for a cache whose blocks the model's heads do not divide into.
exec::SequenceShape choose_shape(const model::Config& config, std::uint32_t asked_context, KvType kv, KvFormat by_default);

MemoryPlan plan_memory(const model::Config& config, const model::WeightLayout& weights, const exec::SequenceShape& shape);

/// Fills in the device's available memory, less the bytes that `device` has allocated already. Throws out_of_memory with the numbers and
/// the remedy if the plan does not fit there or exceeds the device's memory limit, unsupported if a single buffer is larger than the device
/// can bind.
void check_memory(MemoryPlan& plan, const model::Config& config, const exec::SequenceShape& shape, const vk::Device& device);

}  // namespace skipstone::engine
