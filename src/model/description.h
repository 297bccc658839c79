// A model's computation in words, for people who inspect a file.
#pragma once

#include <string>
#include <vector>

#include "model/config.h"

namespace skipstone::model {

/// Neighbouring layers that compute alike.
struct LayerGroup {
  std::uint32_t first = 0, last = 0;
  LayerSpec spec;
};

/// All layers, in order.
std::vector<LayerGroup> layer_groups(const Config& config);

/// A line each: of the layers ("layers 0-4 window 512, layer 5 global, and so on every 6 layers up to 25, QK-norm, post-norms, MLP gated by
/// GELU"), of RoPE, and of scales and softcaps if any. An RMS norm before each sublayer is not mentioned.
std::vector<std::string> describe(const Config& config);

}  // namespace skipstone::model
