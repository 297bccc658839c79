// The parts of loading a model that all stages have in common.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "exec/loaded_model.h"
#include "gguf/gguf.h"

namespace skipstone::engine {

/// The device that `options` name, or their host's. Throws as choose_device() does.
std::shared_ptr<vk::Device> open_device(const EngineOptions& options);
/// The file that `options` name, or the shape of a synthetic model.
gguf::File open_model(const EngineOptions& options);
/// Repacks and uploads the weights of the local layers, random ones if the file has none; the file may be closed afterwards.
void load_weights(exec::LoadedModel& model, const gguf::File& file, const Progress& progress);

/// Resolves `wanted` on `device`. Throws unsupported with the reason if matrix units are requested and cannot be used.
kernels::Math math_for(MathMode wanted, const std::shared_ptr<vk::Device>& device, kernels::Library& library);

}  // namespace skipstone::engine
