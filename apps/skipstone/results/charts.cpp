#include "results/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/escape.h"

namespace cli {
namespace {

// Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
constexpr std::array<std::string_view, 8> colours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                     "#E69F00", "#56B4E9", "#000000", "#8C8C00"};

/// An axis from the least to the largest value, in steps of 1, 2 or 5 times a power of ten.
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
};

class Drawing {
 public:
  explicit Drawing(const Plot& plot) : plot_(plot), x_(x_axis(plot)), y_(y_axis(plot)) {}

  std::string document() {
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        page_width(), height);
    text(left, 24, plot_.title, "start", 15);
    frame();
    if (plot_.bars) {
      bars();
    } else {
      lines();
    }
    if (plot_.reference >= y_.low && plot_.reference <= y_.high) {
      out_ += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#555\" stroke-dasharray=\"5 4\"/>\n", left,
                          width - right, y_at(plot_.reference), y_at(plot_.reference));
    }
    return out_ + "</svg>\n";
  }

 private:
  /// The series' names are to the right of the plot, about 7 units a letter.
  double page_width() const {
    std::size_t longest = 0;
    for (const Series& series : plot_.series) longest = std::max(longest, series.name.size());
    return std::max(width, width - right + 42 + 7 * static_cast<double>(longest));
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

  void text(double x, double y, std::string_view words, std::string_view anchor, int size = 12, std::string_view more = "") {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\"{}>{}</text>\n", x, y, anchor, size, more,
                        markup(words));
  }

  void frame() {
    for (double y = y_.low; y <= y_.high + y_.step / 2; y += y_.step) {
      out_ +=
          fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n", left, width - right, y_at(y), y_at(y));
      text(left - 8, y_at(y) + 4, fmt::format("{:g}", std::round(y * 1e6) / 1e6), "end");
    }
    if (!plot_.bars) {
      for (double x = x_.low; x <= x_.high + x_.step / 2; x += x_.step)
        text(x_at(x), height - bottom + 18, fmt::format("{:g}", x), "middle");
    }
    out_ += fmt::format("<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"#333\"/>\n", left, top, height - bottom, width - right);
    text((left + width - right) / 2, height - 14, plot_.x_title, "middle");
    text(18, (top + height - bottom) / 2, plot_.y_title, "middle", 12,
         fmt::format(" transform=\"rotate(-90 18 {:.1f})\"", (top + height - bottom) / 2));
  }

  void lines() {
    for (std::size_t i = 0; i < plot_.series.size(); ++i) {
      const std::string_view colour = colours[i % colours.size()];
      // With more series than colours, the colours repeat, dashed.
      const std::string stroke = fmt::format("stroke=\"{}\"{}", colour, i < colours.size() ? "" : " stroke-dasharray=\"6 2\"");
      std::string path, marks, whiskers;
      for (const PlotPoint& point : plot_.series[i].points) {
        if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x_at(point.x), y_at(point.y));
        if (std::isfinite(point.low) && std::isfinite(point.high))
          whiskers += fmt::format("M{:.1f} {:.1f}V{:.1f}", x_at(point.x), y_at(point.low), y_at(point.high));
        marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>", x_at(point.x), y_at(point.y));
        if (point.y < plot_.y_least) {
          marks += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"10\">{:.2f}</text>", x_at(point.x) + 6,
                               y_at(point.y) - 6 - 12 * static_cast<double>(i), point.y);
        }
      }
      if (plot_.series[i].points.size() > 60) marks.clear();  // a dense curve needs no marks
      out_ += fmt::format("<path d=\"{}\" fill=\"none\" {} stroke-width=\"1.8\"/><g fill=\"{}\">{}</g>\n", path, stroke, colour, marks);
      if (!whiskers.empty())
        out_ += fmt::format("<path d=\"{}\" stroke=\"{}\" stroke-width=\"5\" stroke-opacity=\"0.25\"/>\n", whiskers, colour);
      const double y = top + 14 + 18 * static_cast<double>(i);
      out_ += fmt::format("<path d=\"M{:.1f} {:.1f}h14\" {} stroke-width=\"4\"/>\n", width - right + 14, y - 4, stroke);
      text(width - right + 34, y, plot_.series[i].name, "start");
    }
  }

  void bar(double x, double bar_width, double value, std::size_t series, bool says_value) {
    const double y = y_at(value);
    out_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" {}/>\n", x, y, bar_width, height - bottom - y,
                        fill(series));
    if (says_value) text(x + bar_width / 2, y - 5, fmt::format("{:.2f}", value), "middle", 11);
  }

  void bars() {
    const double slots = static_cast<double>(std::max<std::size_t>(1, plot_.groups.empty() ? plot_.series.size() : plot_.groups.size()));
    const double slot = (width - left - right) / slots,
                 part = 0.8 * slot / static_cast<double>(std::max<std::size_t>(1, plot_.series.size()));
    for (std::size_t i = 0; i < plot_.groups.size(); ++i) {
      text(left + slot * (static_cast<double>(i) + 0.5), height - bottom + 18, plot_.groups[i], "middle", 10);
    }
    for (std::size_t i = 0; i < plot_.series.size(); ++i) {
      const std::vector<PlotPoint>& points = plot_.series[i].points;
      if (plot_.groups.empty() && (points.empty() || !std::isfinite(points[0].y))) continue;
      if (plot_.groups.empty()) bar(left + slot * (static_cast<double>(i) + 0.15), 0.7 * slot, points[0].y, i, true);
      for (std::size_t p = 0; p < points.size() && !plot_.groups.empty(); ++p) {
        if (std::isfinite(points[p].y)) bar(left + slot * (points[p].x + 0.1) + part * static_cast<double>(i), part, points[p].y, i, false);
      }
      const double label = top + 14 + 18 * static_cast<double>(i);
      out_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"10\" {}/>\n", width - right + 14, label - 9, fill(i));
      text(width - right + 34, label, plot_.series[i].name, "start");
    }
  }

  /// With more series than colours, the colours repeat, paler.
  static std::string fill(std::size_t series) {
    return fmt::format("fill=\"{}\"{}", colours[series % colours.size()], series < colours.size() ? "" : " fill-opacity=\"0.45\"");
  }

  static constexpr double width = 760, height = 440, left = 68, right = 190, top = 44, bottom = 58;

  const Plot& plot_;
  Axis x_, y_;
  std::string out_;
};

constexpr double panel_width = 760, label_width = 250, value_width = 60, plot_width = panel_width - label_width - value_width;
constexpr double title_height = 26, legend_height = 20, bar_height = 13, bar_gap = 2, group_gap = 9;
constexpr std::size_t panel_colours = 5, most_label = 38;

/// The largest value of all bars and the reference line; 1 if there are none.
double largest(const Panel& panel) {
  double most = panel.reference;
  for (const BarGroup& group : panel.groups) {
    for (const double value : group.values) {
      if (std::isfinite(value)) most = std::max(most, value);
    }
  }
  return most > 0 ? most : 1;
}

std::string label(double x, double y, std::string_view style, std::string_view words, std::string_view anchor = "start") {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", style, x, y, anchor, markup(words));
}

std::string legend(const Panel& panel, double y) {
  std::string out;
  double x = label_width;
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    out += fmt::format("<rect class=\"bar{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"11\" height=\"11\"/>\n", i % panel_colours, x, y);
    out += label(x + 16, y + 10, "small", panel.series[i]);
    x += 34 + 7.0 * static_cast<double>(panel.series[i].size());
  }
  return out;
}

/// Formats about three significant digits.
std::string value_text(double value) { return fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 1000 ? 1 : 0); }

/// Draws a panel from `top` on and advances `top`.
std::string draw(const Panel& panel, double& top) {
  std::string out;
  if (panel.series.size() > 1) {
    out += legend(panel, top);
    top += legend_height;
  }
  const double scale = plot_width / largest(panel), first = top;
  for (const BarGroup& group : panel.groups) {
    const auto count = static_cast<double>(group.values.size());
    const double height = count * (bar_height + bar_gap);
    out += label(label_width - 8, top + height / 2 + 4, "label", skipstone::shortened(group.label, most_label), "end");
    for (std::size_t i = 0; i < group.values.size(); ++i, top += bar_height + bar_gap) {
      const double value = group.values[i];
      const double length = std::isfinite(value) ? std::max(0.0, value * scale) : 0.0;
      if (std::isfinite(value)) {
        out += fmt::format("<rect class=\"bar{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\"/>\n", i % panel_colours,
                           label_width, top, length, bar_height);
      }
      out += label(label_width + length + 5, top + bar_height - 2, "small", std::isfinite(value) ? value_text(value) : "not measured");
    }
    top += group_gap;
  }
  if (panel.reference > 0) {
    const double x = label_width + panel.reference * scale;
    out += fmt::format("<line class=\"mark\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>\n", x, first - 3,
                       top - group_gap + 2);
  }
  return out;
}

std::string opening(double height, std::string_view name) {
  return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"{}\">\n", panel_width,
                     height, markup(name));
}

}  // namespace

std::string svg(const Plot& plot) { return Drawing(plot).document(); }

// Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
const char* const bar_style =
    "svg { font-family: system-ui, sans-serif; font-size: 12px; max-width: 760px; }\n"
    ".page { fill: #ffffff; }\n"
    "text { fill: #1c1c1c; }\n"
    ".title { font-size: 14px; font-weight: 600; }\n"
    ".small { font-size: 11px; }\n"
    ".mark { stroke: #555555; stroke-dasharray: 4 3; }\n"
    ".bar0 { fill: #0072b2; }\n.bar1 { fill: #e69f00; }\n.bar2 { fill: #009e73; }\n.bar3 { fill: #cc79a7; }\n.bar4 { fill: #d55e00; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  .page { fill: #17191c; }\n"
    "  text { fill: #e8e8e8; }\n"
    "  .mark { stroke: #aaaaaa; }\n"
    "  .bar0 { fill: #4aa8de; }\n"
    "}\n";

std::string markup(std::string_view text) {
  std::string out;
  // Characters that XML does not allow, not even as references, are written out.
  for (const char c : skipstone::escaped(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string bars_element(const Panel& panel) {
  double height = 4;
  const std::string drawing = draw(panel, height);
  return opening(height, fmt::format("{}, {}", panel.title, panel.unit)) + drawing + "</svg>\n";
}

std::string bars_document(std::span<const Panel> panels) {
  std::string drawing;
  double height = 8;
  for (const Panel& panel : panels) {
    drawing += label(12, height + 14, "title", fmt::format("{} ({})", panel.title, panel.unit));
    height += title_height;
    drawing += draw(panel, height);
    height += 6;
  }
  return opening(height, "Devices compared by skipstone") +
         fmt::format("<style>\n{}</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n", bar_style) + drawing + "</svg>\n";
}

}  // namespace cli
