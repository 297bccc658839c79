#include "device_model.h"

#include "base/env.h"
#include "base/philox.h"
#include "gpu/matrix_math.h"

namespace skipstone::fixtures {

DeviceModel::DeviceModel(const TinyConfig& tiny, const KvFormats& kv_format)
    : file_([&] {
        write_tiny_model(tiny, directory_.file("tiny.gguf"));
        return gguf::File::open(directory_.file("tiny.gguf"));
      }()) {
  model_.config = model::Config::from(file_);
  model_.device = TestDevice::get().device;
  const vk::Caps& caps = model_.device->caps();
  model_.select = std::make_unique<kernels::Selector>(caps, model_.device->tuning());
  model_.kernel_library = TestDevice::get().kernels;
  model_.layout =
      model::layout_weights(model_.config, model::find_tensors(file_, model_.config), caps.max_storage_range, model_.select->interleave());
  model_.shape = {.context = tiny.context, .kv_format = kv_format};
  model_.weights = std::make_unique<model::Weights>(model_.device, model_.layout, nullptr);
  model_.builder = std::make_unique<exec::PassBuilder>(model_.config, model_.layout, model_.shape, *model_.select);
  passes_ = std::make_unique<exec::Worker>(model_);
  if (on_matrices()) model_.select->use(kernels::Math::matrix);
}

std::unique_ptr<exec::Executor> DeviceModel::sequence() { return std::make_unique<exec::Executor>(*passes_); }

const ref::Model& DeviceModel::oracle() {
  if (!oracle_) oracle_ = std::make_unique<ref::Model>(file_, model_.shape.kv_format);
  return *oracle_;
}

bool DeviceModel::prompts_in_halves() const {
  return model_.select->tiled() && model_.select->matmul(gguf::Type::q8_0, model_.config.width, 64).tier != vk::Tier::base;
}

Tokens DeviceModel::tokens(std::uint32_t count, std::uint64_t seed) const {
  Tokens tokens;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto words = philox({i, 0, 0, 0}, {static_cast<std::uint32_t>(seed), 7});
    tokens.push_back(static_cast<std::int32_t>(words[0] % model_.config.vocabulary));
  }
  return tokens;
}

std::vector<std::vector<float>> DeviceModel::logits(exec::Executor& sequence, std::span<const std::int32_t> tokens, std::uint32_t base,
                                                    const exec::LayerPlan& plan) const {
  const auto rows = static_cast<std::uint32_t>(tokens.size());
  sequence.run({.layers = plan, .bucket = kernels::bucket_for(rows), .output = exec::Output::logits}, {.tokens = tokens, .base = base});
  std::vector<std::vector<float>> out;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const auto values = sequence.logits(row);
    out.emplace_back(values.begin(), values.end());
  }
  return out;
}

std::vector<std::byte> DeviceModel::kv(const exec::Executor& sequence, std::uint32_t layer, std::uint32_t end) const {
  exec::KvBytes cache(sequence.pages().cache().buffers(), sequence.pages().lists(), end);
  std::vector<std::byte> bytes(cache.layer_bytes(layer));
  cache.read(layer, bytes);
  return bytes;
}

}  // namespace skipstone::fixtures
