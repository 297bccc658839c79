// Charts as SVG: plots of lines or bars, and panels of horizontal bars.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace cli {

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

struct Bar {
  double value = NAN;            ///< NAN if absent
  double low = NAN, high = NAN;  ///< a whisker, if both are numbers
};

/// The bars of one device, or of whatever is compared.
struct BarGroup {
  std::string label;
  std::vector<Bar> bars;  ///< one for each of Panel::series
};

/// Bars of one kind: groups, each with a bar for each of the series.
struct Panel {
  std::string title, unit;          ///< the unit is the axis's title
  std::vector<std::string> series;  ///< a single one needs no name
  std::vector<BarGroup> groups;
  double reference = 0;  ///< value of a reference line; 0: none
};

/// Panels below each other as a standalone document.
std::string bars_document(std::span<const Panel> panels);

/// One panel without its title, for a page that has picture_style(). `id`: another one for each panel of the page.
std::string bars_element(const Panel& panel, const std::string& id);

}  // namespace cli
