// Plans of tiny models on made-up devices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "exec/pass_builder.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gguf/gguf.h"
#include "kernels/selector.h"
#include "model/config.h"
#include "model/weight_layout.h"

namespace skipstone::exec {

inline vk::Caps lavapipe_like() {
  vk::Caps caps;
  caps.name = "a CPU device";
  caps.kind = vk::DeviceKind::cpu;
  caps.subgroup_size = caps.min_subgroup_size = caps.max_subgroup_size = 8;
  caps.subgroup_arithmetic = caps.subgroup_shuffle = caps.subgroup_ballot = true;
  caps.max_workgroup_invocations = 1024;
  caps.max_workgroup_size = {1024, 1024, 1024};
  caps.max_shared_bytes = 32768;
  caps.max_storage_range = std::uint64_t{1} << 27;
  caps.max_texels = std::uint64_t{1} << 27;
  caps.fp16 = caps.storage16 = true;
  return caps;
}

inline vk::Caps nvidia_like() {
  vk::Caps caps = lavapipe_like();
  caps.name = "a GPU";
  caps.kind = vk::DeviceKind::discrete;
  caps.vendor_id = 0x10de;
  caps.subgroup_size = caps.min_subgroup_size = caps.max_subgroup_size = 32;
  caps.max_shared_bytes = 49152;
  caps.max_storage_range = (std::uint64_t{1} << 32) - 1;
  return caps;
}

/// A tiny model's plans on a made-up device.
class Plans {
 public:
  /// Built with the kernels of every tier, whatever this build has.
  Plans(const fixtures::TinyConfig& tiny, const vk::Caps& caps, std::uint64_t max_range = 0, kernels::Math math = kernels::Math::f32)
      : file_([&] {
          fixtures::write_tiny_model(tiny, directory_.file("tiny.gguf"));
          return gguf::File::open(directory_.file("tiny.gguf"));
        }()),
        config_(model::Config::from(file_)),
        select_(caps, vk::tuning_for(caps), vk::Tier::cooperative_matrix),
        weights_(model::layout_weights(config_, model::find_tensors(file_, config_), max_range == 0 ? caps.max_storage_range : max_range,
                                       select_.interleave())),
        builder_(config_, weights_, {.context = 256, .kv_format = select_.kv_format()}, select_) {
    select_.use(math);
  }

  Plan build(const PassSpec& spec) const { return builder_.build(spec); }
  std::string print(const PassSpec& spec) const {
    return build(spec).print(config_.layer_count(), [this](std::uint32_t tensor) { return weights_.name(tensor); });
  }
  const model::Config& config() const { return config_; }
  const model::WeightLayout& weights() const { return weights_; }
  LayerPlan layers(std::string_view text = "full") const { return LayerPlan::parse(text, config_.layer_count()); }

 private:
  fixtures::TemporaryDirectory directory_;
  gguf::File file_;
  model::Config config_;
  kernels::Selector select_;
  model::WeightLayout weights_;
  PassBuilder builder_;
};

inline fixtures::TinyConfig two_layers(gguf::Type type = gguf::Type::f32) {
  fixtures::TinyConfig tiny;
  tiny.layers = 2;
  tiny.type = type;
  return tiny;
}

inline vk::Caps with_matrices(vk::Caps caps, vk::MatrixShape shape) {
  caps.cooperative_matrix = shape;
  caps.subgroup_size_control = true;
  return caps;
}

/// Whether the dispatch writes the resource, or reads it alone.
inline bool accesses(const kernels::Dispatch& dispatch, const kernels::Resource& resource, bool writes) {
  return std::ranges::any_of(dispatch.operands, [&](const kernels::Operand& operand) {
    return operand.resource == resource && (operand.access != vk::Access::read) == writes;
  });
}

}  // namespace skipstone::exec
