// Pseudo-random choices that a seed decides, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace skipstone::fuzz {

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
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
