#include "report/bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/escape.h"

namespace cli::report {
namespace {

constexpr double page_width = 760, label_width = 250, value_width = 60, plot_width = page_width - label_width - value_width;
constexpr double title_height = 26, legend_height = 20, bar_height = 13, bar_gap = 2, group_gap = 9;
constexpr std::size_t colours = 5, most_label = 38;

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
    out += fmt::format("<rect class=\"bar{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"11\" height=\"11\"/>\n", i % colours, x, y);
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
        out += fmt::format("<rect class=\"bar{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\"/>\n", i % colours,
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
  return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"{}\">\n", page_width,
                     height, markup(name));
}

}  // namespace

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

}  // namespace cli::report
