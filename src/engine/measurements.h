// Measurements on a device for a model, stored in the cache folder: kernel choices and pass costs.
#pragma once

#include <memory>

#include "engine/engine_state.h"
#include "speculation/round_costs.h"
#include "tune/tuner.h"

namespace skipstone::engine {

/// Whether the first use measures automatically: not on CPU devices, whose drivers take seconds to compile the candidates (docs/tuning.md).
bool tunes_by_itself(const vk::Caps& caps);

/// Applies the choices that an earlier run measured for this device and kind of model. False if there are none.
bool take_cached_choices(exec::LoadedModel& model);

/// Times the kernels on the model's weights, which must be loaded, and stores the result in the cache.
tune::Report tune_kernels(const exec::LoadedModel& model, const tune::Effort& effort, const Progress& progress);

/// Costs of the model's passes, from the cache or measured now.
exec::CostTable costs_of(Engine::State& state, const Progress& progress);

speculation::RoundCosts round_costs(const exec::CostTable& table);

/// The same for choosing drafts, in about three seconds: if the full measurement would take longer, as on CPU devices, less is measured and
/// the rest is estimated; the estimate is cached as well. Empty if nothing is cached and even that would take long: on CPU devices with
/// models of more than a GiB a token.
speculation::RoundCosts round_costs_of(Engine::State& state, const Progress& progress);

/// What an earlier call of these functions, or an earlier run of the program, has measured; empty: nothing. Never measures or waits for it.
std::shared_ptr<const speculation::RoundCosts> known_round_costs(Engine::State& state);

}  // namespace skipstone::engine
