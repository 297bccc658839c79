#pragma once

#include <cstdint>

namespace cli::bench {

/// Tokens that are generated before measuring, to record the passes and raise the clocks.
inline constexpr std::uint32_t warm_up_tokens = 16;

}  // namespace cli::bench
