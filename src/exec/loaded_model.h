// A model on one device, as passes over its layers use it.
#pragma once

#include <memory>

#include "exec/pass_builder.h"
#include "kernels/library.h"
#include "kernels/selector.h"
#include "model/config.h"
#include "model/weights.h"
#include "vk/device.h"

namespace skipstone::exec {

/// Immutable once it is loaded, and shared by all sequences; its parts refer to each other, so it stays where it is. In order of
/// construction; destroyed in reverse.
struct LoadedModel {
  LoadedModel() = default;
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;

  /// Number of leading layers on this device. With fewer than the model's, the others are on remote devices.
  std::uint32_t local_layers() const { return shape.end_of(config.layer_count()); }

  model::Config config;
  std::shared_ptr<vk::Device> device;
  std::unique_ptr<kernels::Selector> select;
  std::shared_ptr<kernels::Library> kernel_library;  ///< one per device, shared with a draft model; thread-safe
  model::WeightLayout layout;                        ///< its tensor sources point into the file and are not used after load
  SequenceShape shape;
  std::unique_ptr<model::Weights> weights;
  std::unique_ptr<PassBuilder> builder;
};

}  // namespace skipstone::exec
