// The middle of measured values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace skipstone {

/// The upper one of the middle two where their number is even. `values` must not be empty.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace skipstone
