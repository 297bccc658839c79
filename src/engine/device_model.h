// Everything that passes over a model's layers on one device need, in order of construction; destroyed in reverse.
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"
#include "exec/pass_builder.h"
#include "gguf/gguf.h"
#include "kernels/library.h"
#include "kernels/selector.h"
#include "model/weights.h"
#include "vk/device.h"

namespace skipstone::engine {

struct DeviceModel {
  model::Config config;
  std::shared_ptr<vk::Device> device;
  std::unique_ptr<kernels::Selector> select;
  std::shared_ptr<kernels::Library> kernel_library;  ///< one per device, shared with a draft model
  model::WeightLayout layout;                        ///< its tensor sources point into the file and are not used after load
  exec::SequenceShape shape;
  MemoryPlan memory;
  std::unique_ptr<model::Weights> weights;
  std::unique_ptr<exec::PassBuilder> builder;
};

/// The device that `options` name, or their host's. Throws as choose_device() does.
std::shared_ptr<vk::Device> open_device(const EngineOptions& options);
/// The file that `options` name, or the shape of a synthetic model.
gguf::File open_model(const EngineOptions& options);
/// Repacks and uploads the weights of the local layers, random ones if the file has none; the file may be closed afterwards.
void load_weights(DeviceModel& model, const gguf::File& file, const Progress& progress);

/// Resolves `wanted` on `device`. Throws unsupported with the reason if matrix units are requested and cannot be used.
kernels::Math math_for(MathMode wanted, const std::shared_ptr<vk::Device>& device, kernels::Library& library);

}  // namespace skipstone::engine
