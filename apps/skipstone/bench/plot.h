// Plots as SVG: lines over numbers, or bars side by side.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace cli::bench {

struct PlotPoint {
  double x = 0, y = 0;
  double low = NAN, high = NAN;  ///< of lines: a whisker, if both are numbers
};

struct Series {
  std::string name;  ///< for the legend; of bars: the label under the bar
  std::vector<PlotPoint> points;
};

struct Plot {
  std::string title, x_title, y_title;
  std::vector<Series> series;
  bool bars = false;  ///< one bar for each series, as high as its first point
  std::vector<std::string> groups =
      {};                 ///< of bars: the label under each group; a series then has a bar in group 0, 1, ... (x) as high as y
  double reference = -1;  ///< value of a dashed line; below 0: none
  bool y_from_zero = false;
  double y_least = -std::numeric_limits<double>::infinity();  ///< of lines: points below are drawn on the axis, with their value
};

/// A complete SVG document. Points that are no numbers are left out; a plot without points is an empty frame.
std::string svg(const Plot& plot);

}  // namespace cli::bench
