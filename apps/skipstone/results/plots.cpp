// Plots of lines or upright bars.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "results/axis.h"
#include "results/charts.h"
#include "results/picture.h"

namespace cli {
namespace {

class Drawing {
 public:
  explicit Drawing(const Plot& plot) : plot_(plot), x_(x_axis(plot)), y_(y_axis(plot)) {}

  std::string document() {
    out_ += label(left, 24, "title", plot_.title);
    frame();
    if (plot_.bars) {
      bars();
    } else {
      lines();
    }
    if (plot_.reference >= y_.low && plot_.reference <= y_.high) horizontal("mark", plot_.reference);
    return picture_document({page_width(), height, plot_.title, description(), std::move(out_)});
  }

 private:
  /// The series' names are to the right of the plot, about 7 units a letter; a letter of the title has about 9.
  double page_width() const {
    std::size_t longest = 0;
    for (const Series& series : plot_.series) longest = std::max(longest, series.name.size());
    return std::max(
        {width, width - right + 42 + 7 * static_cast<double>(longest), left + 12 + 9 * static_cast<double>(plot_.title.size())});
  }

  std::string description() const {
    std::string text =
        fmt::format("{} by {}.", plot_.y_title.empty() ? "values" : plot_.y_title, plot_.x_title.empty() ? "what is named" : plot_.x_title);
    for (const Series& series : plot_.series) {
      std::vector<std::string> points;
      for (const PlotPoint& point : series.points) {
        if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
        const auto group = static_cast<std::size_t>(std::max(0.0, point.x));
        const std::string where = !plot_.bars                   ? fmt::format("{:g}: ", point.x)
                                  : group < plot_.groups.size() ? plot_.groups[group] + ": "
                                                                : "";
        points.push_back(where + value_text(point.y));
      }
      if (points.size() > most_told) points = {points.front(), points.back()};
      text += fmt::format(" {}: {}.", series.name, fmt::join(points, ", "));
    }
    return text;
  }

  template <typename Of>
  static std::pair<double, double> range(const Plot& plot, Of&& of) {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const Series& series : plot.series) {
      for (const PlotPoint& point : series.points) {
        if (!std::isfinite(of(point))) continue;
        least = std::min(least, of(point));
        most = std::max(most, of(point));
      }
    }
    return std::isfinite(least) ? std::pair{least, most} : std::pair{0.0, 1.0};
  }
  static Axis x_axis(const Plot& plot) {
    const auto [least, most] = range(plot, [](const PlotPoint& point) { return point.x; });
    return {least, most, true};
  }
  static Axis y_axis(const Plot& plot) {
    auto [least, most] = range(plot, [](const PlotPoint& point) { return point.y; });
    if (!plot.bars) {
      least = std::min(least, range(plot, [](const PlotPoint& point) { return std::isfinite(point.low) ? point.low : point.y; }).first);
      most = std::max(most, range(plot, [](const PlotPoint& point) { return std::isfinite(point.high) ? point.high : point.y; }).second);
    }
    if (plot.reference >= 0) {
      least = std::min(least, plot.reference);
      most = std::max(most, plot.reference);
    }
    return {plot.bars || plot.y_from_zero ? 0.0 : std::max(least, plot.y_least), most, false};
  }

  double x_at(double x) const { return left + (x - x_.low) / (x_.high - x_.low) * (width - left - right); }
  double y_at(double y) const {
    return height - bottom - (std::max(y, plot_.y_least) - y_.low) / (y_.high - y_.low) * (height - top - bottom);
  }

  void horizontal(std::string_view style, double y) {
    out_ += fmt::format("<line class=\"{0}\" x1=\"{1}\" x2=\"{2}\" y1=\"{3:.1f}\" y2=\"{3:.1f}\"/>\n", style, left, width - right, y_at(y));
  }

  void frame() {
    for (const double y : y_.ticks()) {
      horizontal("grid", y);
      out_ += label(left - 8, y_at(y) + 4, "", fmt::format("{:g}", std::round(y * 1e6) / 1e6), "end");
    }
    if (!plot_.bars) {
      for (const double x : x_.ticks()) out_ += label(x_at(x), height - bottom + 18, "", fmt::format("{:g}", x), "middle");
    }
    out_ += fmt::format("<path class=\"axis\" d=\"M{0} {1}V{2}H{3}\"/>\n", left, top, height - bottom, width - right);
    out_ += label((left + width - right) / 2, height - 14, "", plot_.x_title, "middle");
    out_ += label(18, (top + height - bottom) / 2, "", plot_.y_title, "middle",
                  fmt::format(" transform=\"rotate(-90 18 {:.1f})\"", (top + height - bottom) / 2));
  }

  /// The place of a series' name to the right.
  static double legend_at(std::size_t series) { return top + 14 + 18 * static_cast<double>(series); }

  void line(std::size_t number, const std::string& style) {
    const Series& series = plot_.series[number];
    std::string path, marks, ranges;
    for (const PlotPoint& point : series.points) {
      if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x_at(point.x), y_at(point.y));
      if (std::isfinite(point.low) && std::isfinite(point.high))
        ranges += fmt::format("M{:.1f} {:.1f}V{:.1f}", x_at(point.x), y_at(point.low), y_at(point.high));
      marks += fmt::format("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>", x_at(point.x), y_at(point.y));
      if (point.y < plot_.y_least)
        marks += label(x_at(point.x) + 7, y_at(point.y) - 5 - 12 * static_cast<double>(number), "small", fmt::format("{:.2f}", point.y));
    }
    if (series.points.size() > most_marked) marks.clear();  // a dense curve needs no marks
    out_ += fmt::format("<g class=\"{}\">", style);
    if (!ranges.empty()) out_ += fmt::format("<path class=\"range\" d=\"{}\"/>", ranges);
    out_ += fmt::format("<path class=\"line\" d=\"{}\"/>{}\n<path class=\"key\" d=\"M{:.1f} {:.1f}h14\"/>", path, marks, width - right + 14,
                        legend_at(number) - 4);
    out_ += label(width - right + 34, legend_at(number), "", series.name) + "</g>\n";
  }

  /// Lines that are drawn later lie over others, so `auto` is the last.
  void lines() {
    const std::vector<std::string> classes = classes_of_series();
    for (const bool last : {false, true}) {
      for (std::size_t i = 0; i < plot_.series.size(); ++i) {
        if (is_auto(plot_.series[i].name) == last) line(i, classes[i]);
      }
    }
  }

  std::vector<std::string> classes_of_series() const {
    std::vector<std::string> names;
    for (const Series& series : plot_.series) names.push_back(series.name);
    return series_classes(names);
  }

  void bar(double x, double bar_width, double value, bool says_value) {
    const double y = y_at(value);
    out_ += fmt::format("<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", x, y, bar_width,
                        height - bottom - y);
    if (says_value) out_ += label(x + bar_width / 2, y - 5, "small", fmt::format("{:.2f}", value), "middle");
  }

  void bars() {
    const double slots = static_cast<double>(std::max<std::size_t>(1, plot_.groups.empty() ? plot_.series.size() : plot_.groups.size()));
    const double slot = (width - left - right) / slots,
                 part = 0.8 * slot / static_cast<double>(std::max<std::size_t>(1, plot_.series.size()));
    for (std::size_t i = 0; i < plot_.groups.size(); ++i)
      out_ += label(left + slot * (static_cast<double>(i) + 0.5), height - bottom + 18, "tiny", plot_.groups[i], "middle");
    const std::vector<std::string> classes = classes_of_series();
    for (std::size_t i = 0; i < plot_.series.size(); ++i) {
      const std::vector<PlotPoint>& points = plot_.series[i].points;
      if (plot_.groups.empty() && (points.empty() || !std::isfinite(points[0].y))) continue;
      out_ += fmt::format("<g class=\"{}\">\n", classes[i]);
      if (plot_.groups.empty()) bar(left + slot * (static_cast<double>(i) + 0.15), 0.7 * slot, points[0].y, true);
      for (std::size_t p = 0; p < points.size() && !plot_.groups.empty(); ++p) {
        if (std::isfinite(points[p].y)) bar(left + slot * (points[p].x + 0.1) + part * static_cast<double>(i), part, points[p].y, false);
      }
      out_ +=
          fmt::format("<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"10\"/>\n", width - right + 14, legend_at(i) - 9);
      out_ += label(width - right + 34, legend_at(i), "", plot_.series[i].name) + "</g>\n";
    }
  }

  static constexpr double width = 760, height = 440, left = 68, right = 190, top = 44, bottom = 58;
  static constexpr std::size_t most_marked = 60, most_told = 12;  // points

  const Plot& plot_;
  Axis x_, y_;
  std::string out_;
};

}  // namespace

std::string svg(const Plot& plot) { return Drawing(plot).document(); }

}  // namespace cli
