// Random numbers of the search: the same for a seed everywhere, unlike those of <random>'s distributions.
#pragma once

#include <cstdint>

#include "base/philox.h"

namespace skipstone::speculation::search {

class Random {
 public:
  explicit Random(std::uint64_t seed) : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {}

  /// In (0, 1).
  double unit() { return open_unit(philox({next_++, 0, 0, 0}, key_)[0]); }
  /// 0 to `count` - 1.
  std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>(unit() * count); }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint32_t next_ = 0;
};

}  // namespace skipstone::speculation::search
