#include "device_model.h"

#include "base/env.h"
#include "base/philox.h"

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
      layout_(model::layout_weights(model::find_tensors(file_, config_), device_->caps().max_storage_range, select_.interleave())),
      weights_(device_, layout_, {}),
      builder_(config_, layout_, shape_, select_) {}

std::unique_ptr<exec::Executor> DeviceModel::sequence() {
  return std::make_unique<exec::Executor>(device_, library_, builder_, config_, weights_, shape_);
}

const ref::Model& DeviceModel::oracle() {
  if (!oracle_) oracle_ = std::make_unique<ref::Model>(file_, shape_.kv_format);
  return *oracle_;
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

std::vector<std::byte> DeviceModel::kv(exec::Executor& sequence, std::uint32_t layer, std::uint32_t end) const {
  const std::vector<std::byte> all = sequence.read_kv(layer);  // K, then V: by KV head, vectors [context], then scales [context]
  const kernels::AttentionShape shape = exec::attention_shape(config_, shape_);
  const std::size_t vector = shape.kv_position_bytes(), scales = shape.kv_scale_bytes();
  std::vector<std::byte> out;
  for (std::size_t at = 0; at < all.size(); at += shape.kv_head_bytes()) {
    for (const auto& [first, bytes] : {std::pair{at, vector * end}, std::pair{at + vector * shape_.context, scales * end}}) {
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(first);
      out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(bytes));
    }
  }
  return out;
}

}  // namespace skipstone::fixtures
