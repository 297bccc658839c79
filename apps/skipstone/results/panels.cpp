// Panels of horizontal bars.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/escape.h"
#include "results/axis.h"
#include "results/charts.h"
#include "results/fitted_grid.h"
#include "results/picture.h"

namespace cli {
namespace {

constexpr double panel_width = 760, label_width = 250, value_width = 60, plot_width = panel_width - label_width - value_width;
constexpr double title_height = 26, legend_height = 22, bar_height = 13, bar_gap = 2, group_gap = 9, axis_height = 38, letter_width = 7;
constexpr std::size_t most_label = 38;

/// From zero to the largest value of all bars, whiskers and the reference line.
Axis axis_of(const Panel& panel) {
  double most = panel.reference;
  for (const BarGroup& group : panel.groups) {
    for (const Bar& bar : group.bars) most = std::fmax(most, std::fmax(bar.value, bar.high));
  }
  return {0, most > 0 ? most : 1, false};
}

std::string legend(const Panel& panel, const std::vector<std::string>& classes, double y) {
  std::string out;
  double x = label_width;
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    out += fmt::format("<g class=\"{}\"><rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"11\" height=\"11\"/>", classes[i], x, y);
    out += label(x + 16, y + 10, "small", panel.series[i]) + "</g>\n";
    x += 34 + letter_width * static_cast<double>(panel.series[i].size());
  }
  return out;
}

/// Grid, numbers and the axis's title, for bars from `top` to `bottom`.
std::string frame(const Panel& panel, const Axis& axis, double top, double bottom) {
  std::string out;
  const auto vertical = [&](std::string_view style, double value) {
    const double x = label_width + value / axis.high * plot_width;
    out += fmt::format("<line class=\"{0}\" x1=\"{1:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{3:.1f}\"/>\n", style, x, top - 3, bottom);
    return x;
  };
  for (const double tick : axis.ticks())
    out += label(vertical("grid", tick), bottom + 13, "small", fmt::format("{:g}", std::round(tick * 1e6) / 1e6), "middle");
  if (panel.reference > 0) vertical("mark", panel.reference);
  return out + label(label_width + plot_width / 2, bottom + 28, "small", panel.unit, "middle");
}

std::string draw_bar(const Bar& bar, const Axis& axis, double reference, double top) {
  if (!std::isfinite(bar.value)) return label(label_width + 5, top + bar_height - 2, "small", "not measured");
  const auto x_at = [&](double value) { return label_width + std::max(0.0, value) / axis.high * plot_width; };
  double end = x_at(bar.value);
  std::string out = fmt::format("<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\"/>\n", label_width, top,
                                end - label_width, bar_height);
  if (std::isfinite(bar.low) && std::isfinite(bar.high)) {
    end = std::max(end, x_at(bar.high));
    out += fmt::format("<path class=\"whisker\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", x_at(bar.low), top + bar_height / 2, x_at(bar.high));
  }
  const std::string value = value_text(bar.value);
  const double mark = x_at(reference);
  if (reference > 0 && end < mark && mark < end + 5 + letter_width * static_cast<double>(value.size())) end = mark;  // not across the line
  return out + label(end + 5, top + bar_height - 2, "small", value);
}

/// Draws a panel from `top` on and advances `top`.
std::string draw(const Panel& panel, double& top) {
  const std::vector<std::string> classes = series_classes(panel.series);
  const Axis axis = axis_of(panel);
  std::string out, bars;
  if (panel.series.size() > 1) {
    out += legend(panel, classes, top);
    top += legend_height;
  }
  const double first = top;
  for (const BarGroup& group : panel.groups) {
    const double height = static_cast<double>(group.bars.size()) * (bar_height + bar_gap);
    bars += label(label_width - 8, top + height / 2 + 4, "small", cut(skipstone::escaped(group.label), most_label), "end");
    for (std::size_t i = 0; i < group.bars.size(); ++i, top += bar_height + bar_gap)
      bars += fmt::format("<g class=\"{}\">{}</g>\n", classes[i], draw_bar(group.bars[i], axis, panel.reference, top));
    top += group_gap;
  }
  out += frame(panel, axis, first, top - group_gap + 4) + bars;
  top += axis_height - group_gap;
  return out;
}

std::string description(const Panel& panel) {
  std::string text = panel.unit + ".";
  for (const BarGroup& group : panel.groups) {
    std::vector<std::string> values;
    for (std::size_t i = 0; i < group.bars.size(); ++i) {
      const double value = group.bars[i].value;
      values.push_back(fmt::format("{}{}{}", panel.series[i], panel.series[i].empty() ? "" : " ",
                                   std::isfinite(value) ? value_text(value) : "not measured"));
    }
    text += fmt::format(" {}: {}.", group.label, fmt::join(values, ", "));
  }
  return text;
}

}  // namespace

std::string bars_element(const Panel& panel, const std::string& id) {
  double height = 4;
  std::string drawing = draw(panel, height);
  return picture_element({panel_width, height, panel.title, description(panel), std::move(drawing), id});
}

std::string bars_document(std::span<const Panel> panels) {
  std::string drawing, told;
  double height = 8;
  for (const Panel& panel : panels) {
    drawing += label(12, height + 14, "title", panel.title);
    height += title_height;
    drawing += draw(panel, height);
    height += 10;
    told += fmt::format("{}{}, {}", told.empty() ? "" : " ", panel.title, description(panel));
  }
  return picture_document({panel_width, height, "Devices compared by skipstone", std::move(told), std::move(drawing)});
}

}  // namespace cli
