// Pseudo-random choices that a seed decides, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/hash.h"

namespace skipstone::fuzz {

/// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    const std::uint64_t number = split_mix(state_);
    state_ += split_mix_step;
    return number;
  }
  /// From 0 to `count` - 1; 0 where `count` is 0.
  std::size_t below(std::size_t count) { return count == 0 ? 0 : static_cast<std::size_t>(next() % count); }
  bool one_in(std::size_t count) { return below(count) == 0; }
  /// One of a container's elements, which must not be empty.
  template <typename Container>
  auto& pick(Container& from) {
    return from[below(from.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace skipstone::fuzz
