#pragma once

#include <cstdint>

namespace cli::bench {

/// Tokens that are generated before anything is measured: passes are recorded and clocks rise then.
inline constexpr std::uint32_t warm_up_tokens = 16;

}  // namespace cli::bench
