// A tiny model on the test's device, with as many sequences as a test wants, and the oracle's view of the same file.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/executor.h"
#include "fixtures/slow_device.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gguf/gguf.h"
#include "gpu/test_device.h"
#include "ref/model.h"

namespace skipstone::fixtures {

using Tokens = std::vector<std::int32_t>;

/// "q8_0" or "q8_0_q4_0", for names of tests.
inline std::string name_of(const KvFormats& formats) {
  return formats.k == formats.v ? to_string(formats.k) : std::string(to_string(formats.k)) + "_" + to_string(formats.v);
}

/// Whether a test of every cache leaves this one to the long sweep: kernel_test has the kernels of all types on slow devices too.
inline bool left_to_sweep(const KvFormats& formats) {
  return fixtures::slow_device_or_validation() && (formats.k != formats.v || formats.k == KvFormat::f32);
}

class DeviceModel {
 public:
  DeviceModel(const TinyConfig& tiny, const KvFormats& kv_format);

  const model::Config& config() const { return model_.config; }
  const exec::SequenceShape& shape() const { return model_.shape; }
  exec::LayerPlan layers(std::string_view text = "full") const { return exec::LayerPlan::parse(text, model_.config.layer_count()); }
  /// A new text. The model must outlive it.
  std::unique_ptr<exec::Executor> sequence();
  const ref::Model& oracle();

  /// Whether prompts are multiplied in half precision (docs/numerics.md).
  bool prompts_in_halves() const;

  /// Pseudo-random tokens of the vocabulary.
  Tokens tokens(std::uint32_t count, std::uint64_t seed) const;
  /// One full pass over `tokens` at `base`; the logits of each.
  std::vector<std::vector<float>> logits(exec::Executor& sequence, std::span<const std::int32_t> tokens, std::uint32_t base,
                                         const exec::LayerPlan& plan) const;
  /// The bytes of one layer's K and V of positions below `end`.
  std::vector<std::byte> kv(const exec::Executor& sequence, std::uint32_t layer, std::uint32_t end) const;
  exec::Worker& passes() { return *passes_; }

 private:
  TemporaryDirectory directory_;
  gguf::File file_;
  exec::LoadedModel model_;
  std::unique_ptr<exec::Worker> passes_;
  std::unique_ptr<ref::Model> oracle_;
};

}  // namespace skipstone::fixtures
