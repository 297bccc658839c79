// How a text that is read is split into passes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/operations.h"

namespace skipstone::engine {

/// How many tokens the next prompt pass reads: full buckets, so that no rows are wasted, and a remainder. No bit depends on where a prompt
/// is split.
inline std::uint32_t next_chunk(std::size_t left) {
  auto chunk = static_cast<std::uint32_t>(std::min<std::size_t>(left, STEP_VERIFY_ROWS));
  for (const std::uint32_t bucket : kernels::prompt_buckets) {
    if (bucket >= STEP_VERIFY_ROWS && bucket <= left) chunk = bucket;
  }
  return chunk;
}

}  // namespace skipstone::engine
