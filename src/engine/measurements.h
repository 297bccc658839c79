// What is measured on a device for a model, and kept in the cache folder: the kernels' choices and the passes' costs.
#pragma once

#include "engine/engine_state.h"
#include "spec/round_costs.h"
#include "tune/tuner.h"

namespace skipstone::engine {

/// Whether a first use measures by itself: not on CPU devices, whose drivers take seconds to compile the candidates (docs/tuning.md).
bool tunes_by_itself(const vk::Caps& caps);

/// Takes the choices that an earlier run measured for this device and kind of model. False where there are none.
bool take_cached_choices(DeviceModel& model);

/// Times the kernels on the model's weights, which must be loaded, and keeps what came out in the cache. Changes nothing in `state`.
tune::Report tune_kernels(Engine::State& state, const tune::Effort& effort, const Progress& progress);

/// Costs of the model's passes, from the cache or measured now.
exec::CostTable costs_of(Engine::State& state, const Progress& progress);

spec::RoundCosts round_costs(const exec::CostTable& table);

/// The same for choosing drafts, in some three seconds: where measuring all would take longer, as on CPU devices, less is measured and the
/// rest is estimated, which is cached as well. Empty where nothing is cached and even that would take long: on CPU devices with models of
/// more than a GiB a token.
spec::RoundCosts round_costs_of(Engine::State& state, const Progress& progress);

}  // namespace skipstone::engine
