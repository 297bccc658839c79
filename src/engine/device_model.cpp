#include "engine/device_model.h"

#include "base/env.h"
#include "base/log.h"
#include "model/random_weights.h"
#include "model/synthetic.h"

namespace skipstone::engine {

std::shared_ptr<vk::Device> open_device(const EngineOptions& options) {
  const vk::DeviceOptions how{.low_priority = options.low_priority, .memory_limit = options.memory_limit};
  if (options.host) {
    auto device = vk::Device::wrap(*options.host, how);
    log::info("the host's device: {}", device->caps().name);
    return device;
  }
  const auto instance = vk::Instance::create(options.validation || env::flag("SKIPSTONE_VALIDATION"));
  const auto unsuitable = [&](std::uint32_t index) { return instance->unsuitable(index); };
  const std::string wanted = options.device.empty() ? env::get("SKIPSTONE_DEVICE").value_or("") : options.device;
  const vk::ChosenDevice choice = vk::choose_device(instance->devices(), unsuitable, wanted);
  auto device = vk::Device::create(instance, choice.index, how);
  log::info("device {}: {} ({})", choice.index, device->caps().name, choice.reason);
  return device;
}

gguf::File open_model(const EngineOptions& options) {
  if (!options.synthetic.empty()) return model::synthetic_model(options.synthetic);
  return options.model_file ? gguf::File::open(options.model_file) : gguf::File::open(options.model_path);
}

void load_weights(exec::LoadedModel& model, const gguf::File& file, const Progress& progress) {
  model::RandomWeights random(model.device, *model.kernel_library, *model.select);
  model.weights = std::make_unique<model::Weights>(
      model.device, model.layout,
      [&](double done) {
        if (progress) progress("loading weights", done);
      },
      file.has_data() ? nullptr : &random);
  for (model::TensorPlace& place : model.layout.tensors) place.sources.clear();  // the file is closed
}

}  // namespace skipstone::engine
