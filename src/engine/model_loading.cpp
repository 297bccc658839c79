#include "engine/model_loading.h"

#include <fmt/format.h>

#include "base/env.h"
#include "base/log.h"
#include "base/status.h"
#include "model/config.h"
#include "model/random_weights.h"
#include "model/synthetic.h"
#include "selftest/matrix_check.h"

namespace skipstone::engine {
namespace {

constexpr std::uint32_t proven_rows = 16;  // all columns of one tile

/// The reason why decoding cannot use matrix units; "" if it can.
std::string obstacle(const std::shared_ptr<vk::Device>& device, kernels::Library& library) {
  const vk::Caps& caps = device->caps();
  if (caps.tier() != vk::Tier::cooperative_matrix)
    return fmt::format("{} has no cooperative matrices of halves with sums in floats", caps.name);
  if (kernels::built_tier() != vk::Tier::cooperative_matrix) return "this build has no kernels for cooperative matrices";
  if (!kernels::Selector(caps, device->tuning()).has_matrices()) return fmt::format("the tile does not fit a workgroup of {}", caps.name);
  try {
    selftest::Bench bench(device, library);
    const std::string difference = selftest::check_matrix_columns(bench, gguf::Type::q8_0, proven_rows);
    return difference.empty() ? "" : fmt::format("its driver ({}) breaks the numerics contract there: {}", caps.driver_name, difference);
  } catch (const Error& error) {
    if (error.code() == Code::device_lost) throw;
    return error.what();  // a driver may refuse the kernel
  }
}

}  // namespace

std::shared_ptr<vk::Device> open_device(const EngineOptions& options) {
  const vk::DeviceOptions how{.low_priority = options.low_priority, .memory = options.memory_account};
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
  if (!options.synthetic.empty()) {
    if (!options.mtp_path.empty()) fail(Code::invalid_argument, "{}: a synthetic model takes no head of a file", options.mtp_path);
    return model::synthetic_model(options.synthetic);
  }
  gguf::File file = options.model_file ? gguf::File::open(options.model_file) : gguf::File::open(options.model_path);
  if (!options.mtp_path.empty()) file = model::with_prediction_heads(std::move(file), options.mtp_path);
  return file;
}

kernels::Math math_for(MathMode wanted, const std::shared_ptr<vk::Device>& device, kernels::Library& library) {
  if (wanted == MathMode::f32) return kernels::Math::f32;
  if (wanted == MathMode::automatic && (device->caps().is_cpu() || device->tuning().prefill != vk::Tier::cooperative_matrix)) {
    log::info("decoding in f32: {} is not known to be fast with matrix units", device->caps().name);
    return kernels::Math::f32;
  }
  const std::string reason = obstacle(device, library);
  if (reason.empty()) {
    const vk::MatrixShape& shape = device->caps().cooperative_matrix;
    log::info("decoding on matrix units of {} x {} x {}", shape.m, shape.n, shape.k);
    return kernels::Math::matrix;
  }
  if (wanted == MathMode::matrix) fail(Code::unsupported, "decoding cannot use matrix units: {}", reason);
  log::info("decoding in f32: {}", reason);
  return kernels::Math::f32;
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
