// What tests of the oracle with reference models share.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace skipstone {

using Tokens = std::vector<std::int32_t>;

/// |a - b| / |b|
inline double distance(const std::vector<float>& a, const std::vector<double>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(difference / size);
}

}  // namespace skipstone
