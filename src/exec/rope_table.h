// What Q and K turn by at each position: tables that the host makes in double precision, behind each other in one buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.h"

namespace skipstone::exec {

/// The rows of the buffer that position 0 of a layer's K and Q turn by.
struct RopeRows {
  std::uint32_t k = 0, q = 0;
};
RopeRows rope_rows(const model::Config& config, std::uint32_t context, const model::LayerSpec& layer);

/// Rows of the buffer: `context` for each table that the model needs.
std::uint32_t rope_table_rows(const model::Config& config, std::uint32_t context);

/// [rows][rope_dim / 2] of (cos, sin), times what the model multiplies them with: the table of all layers; where some turn by another base,
/// theirs; where Q grows with its position (Config::temperature), Q's.
std::vector<float> rope_table(const model::Config& config, std::uint32_t context);

}  // namespace skipstone::exec
