// The axis of a chart.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace cli {

/// From the least to the largest value, in steps of 1, 2 or 5 times a power of ten.
struct Axis {
  double low = 0, high = 1, step = 0.2;

  Axis(double least, double most, bool whole_numbers) {
    if (!(most > least)) {
      least -= 0.5;
      most += 0.5;
    }
    const double rough = (most - least) / 6, power = std::pow(10.0, std::floor(std::log10(rough))), digit = rough / power;
    step = power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
    if (whole_numbers) step = std::max(1.0, std::round(step));
    low = std::floor(least / step) * step;
    high = std::ceil(most / step) * step;
  }

  std::vector<double> ticks() const {
    std::vector<double> values;
    for (double value = low; value <= high + step / 2; value += step) values.push_back(value);
    return values;
  }
};

}  // namespace cli
