// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
#pragma once

#include <array>
#include <cstdint>

namespace skipstone {

/// The four 32-bit words of block `counter` under `key`; a pure function, so any position's noise is reachable directly.
inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// A word as a double strictly between 0 and 1 (so that its logarithm is finite).
inline double open_unit(std::uint32_t word) { return (static_cast<double>(word) + 0.5) * 0x1p-32; }

}  // namespace skipstone
