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

/// Floats of the buffer.
std::uint64_t rope_table_floats(const model::Config& config, std::uint32_t context);

/// Tables of [context][rotating dimensions / 2] (cos, sin), times the model's factor: that of all layers; if some layers rotate by another
/// base, theirs, from one of its rows on; if Q grows with its position (Config::temperature), Q's.
std::vector<float> rope_table(const model::Config& config, std::uint32_t context);

}  // namespace skipstone::exec
