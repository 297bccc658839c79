// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
#pragma once

#include <array>
#include <cstdint>

namespace skipstone {

/// The four 32-bit words of block `counter` under `key`; a pure function, so any position's noise is reachable directly.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// A word as a double strictly between 0 and 1 (so that its logarithm is finite).
inline double open_unit(std::uint32_t word) { return (static_cast<double>(word) + 0.5) * 0x1p-32; }

}  // namespace skipstone
