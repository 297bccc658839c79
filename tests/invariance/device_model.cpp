#include "device_model.h"

#include "base/env.h"
#include "base/philox.h"
#include "exec/kv_bytes.h"
#include "gpu/matrix_math.h"

namespace skipstone::fixtures {

DeviceModel::DeviceModel(const TinyConfig& tiny, KvFormat kv_format)
    : file_([&] {
        write_tiny_model(tiny, directory_.file("tiny.gguf"));
        return gguf::File::open(directory_.file("tiny.gguf"));
      }()),
      config_(model::Config::from(file_)),
      shape_{.context = tiny.context, .kv_format = kv_format},
      device_(TestDevice::get().device),
      library_(device_, env::cache_directory()),
      select_(device_->caps(), device_->tuning()),
      layout_(model::layout_weights(config_, model::find_tensors(file_, config_), device_->caps().max_storage_range, select_.interleave())),
      weights_(device_, layout_, {}),
      builder_(config_, layout_, shape_, select_),
      passes_(device_, library_, builder_, config_, weights_, shape_) {
  if (on_matrices()) select_.use(kernels::Math::matrix);
}

std::unique_ptr<exec::Executor> DeviceModel::sequence() {
  return std::make_unique<exec::Executor>(passes_);
}

const ref::Model& DeviceModel::oracle() {
  if (!oracle_) oracle_ = std::make_unique<ref::Model>(file_, shape_.kv_format);
  return *oracle_;
}

bool DeviceModel::prompts_in_halves() const {
  return select_.tiled() && select_.matmul(gguf::Type::q8_0, config_.width, 64).tier != vk::Tier::base;
}

Tokens DeviceModel::tokens(std::uint32_t count, std::uint64_t seed) const {
  Tokens tokens;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto words = philox({i, 0, 0, 0}, {static_cast<std::uint32_t>(seed), 7});
    tokens.push_back(static_cast<std::int32_t>(words[0] % config_.vocabulary));
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
  exec::KvBytes cache(device_, exec::attention_shape(config_, shape_), sequence.pages().cache().buffers(), sequence.pages().lists(), end);
  std::vector<std::byte> bytes(cache.layer_bytes(layer));
  cache.read(layer, bytes);
  return bytes;
}

}  // namespace skipstone::fixtures
