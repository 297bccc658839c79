// Rotation angles of Q and K at each position: tables that the host computes in double precision, one after the other in one buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.h"

namespace skipstone::exec {

/// The rows of the buffer for position 0 of a layer's K and Q.
struct RopeRows {
  std::uint32_t k = 0, q = 0;
};
RopeRows rope_rows(const model::Config& config, std::uint32_t context, const model::Attention& attention);

/// Rows of the buffer: `context` for each table that the model needs.
std::uint32_t rope_table_rows(const model::Config& config, std::uint32_t context);

/// [rows][rope_dim / 2] of (cos, sin), times the model's factor: the table of all layers; if some layers rotate by another base, theirs; if
/// Q grows with its position (Config::temperature), Q's.
std::vector<float> rope_table(const model::Config& config, std::uint32_t context);

}  // namespace skipstone::exec
