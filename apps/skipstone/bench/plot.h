// Plots as SVG: lines over numbers, or bars side by side.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace cli::bench {

struct PlotPoint {
  double x = 0, y = 0;
  double low = NAN, high = NAN;  ///< of lines: a whisker, where both are numbers
};

struct Series {
  std::string name;  ///< for the legend; of bars: what stands under the bar
  std::vector<PlotPoint> points;
};

struct Plot {
  std::string title, x_title, y_title;
  std::vector<Series> series;
  bool bars = false;  ///< one bar for each series, as high as its first point
  std::vector<std::string> groups =
      {};                 ///< of bars: what stands under each group; a series then has a bar in group 0, 1, ... (x) as high as y
  double reference = -1;  ///< a dashed line across; below 0: none
  bool y_from_zero = false;
  double y_least = -std::numeric_limits<double>::infinity();  ///< of lines: what lies below is drawn on the axis, with its number
};

/// A whole SVG document. Points that are no numbers are left out; a plot without points is an empty frame.
std::string svg(const Plot& plot);

}  // namespace cli::bench
