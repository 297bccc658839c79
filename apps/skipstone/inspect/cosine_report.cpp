#include "inspect/cosine_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "json/json.h"

namespace cli {
namespace {

using skipstone::Json;

constexpr double threshold = 0.985;  // the paper's algorithm skips an attention sublayer from this cosine on
constexpr int bar_width = 28;

double number(const Json& object, const char* name) { return object[name].get<double>(); }

std::string statistics_line(const char* name, const Json& sublayers) {
  return fmt::format("{:<10}{:>8.3f}{:>8.3f}{:>8.3f}{:>8.3f}{:>12.3f} ms\n", name, number(sublayers, "min"), number(sublayers, "max"),
                     number(sublayers, "mean"), number(sublayers, "median"), 1e-3 * number(sublayers, "microseconds"));
}

/// The origin of the bars: a tenth below the lower quartile. The first sublayers, which build the stream up, may be far from the others.
double origin(const Json& report) {
  std::vector<double> means;
  for (const char* kind : {"attention", "mlp"}) {
    for (const Json& layer : report[kind]["layers"]) means.push_back(number(layer, "mean"));
  }
  std::ranges::sort(means);
  return std::clamp(std::floor(10 * means[means.size() / 4]) / 10, -1.0, 0.9);
}

std::string bar(double value, double from) {
  const auto length = static_cast<std::size_t>(std::clamp(std::lround((value - from) / (1 - from) * bar_width), 0l, long{bar_width}));
  return std::string(length, '#') + std::string(bar_width - length, '.');
}

Series series_of(const char* name, const Json& sublayers) {
  Series series{name, {}};
  for (const Json& layer : sublayers["layers"])
    series.points.push_back({static_cast<double>(series.points.size()), number(layer, "mean"), number(layer, "min"), number(layer, "max")});
  return series;
}

std::string subject(const Json& report) {
  const auto prompts = report["prompts"].get<std::uint64_t>();
  return fmt::format("{}, {} prompt{} of {} tokens together", report["model"].get<std::string>(), prompts, prompts == 1 ? "" : "s",
                     report["tokens"].get<std::uint64_t>());
}

}  // namespace

std::string cosine_text(const Json& report) {
  std::string text =
      fmt::format("{}, on {} ({})\n", subject(report), report["device"].get<std::string>(), report["driver"].get<std::string>());
  if (const auto left_out = report["left_out"].get<std::uint64_t>(); left_out > 0)
    text += fmt::format("left out: {}, longer than the context\n", left_out);
  text += fmt::format("\n{:<10}{:>8}{:>8}{:>8}{:>8}{:>15}\n", "cosine", "min", "max", "mean", "median", "mean time");
  text += statistics_line("attention", report["attention"]) + statistics_line("MLP", report["mlp"]);
  text +=
      "\nOf the residual stream before and after a sublayer, mean over a prompt; over all layers and prompts. Mean time: of one sublayer "
      "in a\n"
      "pass of one token.\n";
  const Json& reading = report["reading"];
  const auto milliseconds = [&](const char* name) { return 1e-3 * number(reading, name); };
  text += fmt::format(
      "Reading a prompt takes {:.2f} ms (median); measuring attention's cosines, as asd does, adds {:.3f} ms ({:+.1f} %), measuring all\n"
      "{:.3f} ms ({:+.1f} %).\n",
      milliseconds("plain"), milliseconds("attention_added"), 100 * number(reading, "attention_added") / number(reading, "plain"),
      milliseconds("all_added"), 100 * number(reading, "all_added") / number(reading, "plain"));
  const double from = origin(report);
  const Json &attention = report["attention"]["layers"], &mlp = report["mlp"]["layers"];
  text += fmt::format("\nlayer  {:<{}}  MLP (bars from {:.1f} to 1; *: {} or more)\n", "attention", bar_width + 8, from, threshold);
  for (std::size_t layer = 0; layer < attention.size(); ++layer) {
    const double a = number(attention[layer], "mean"), m = number(mlp[layer], "mean");
    text += fmt::format("{:>5}  {:>6.4f}{}{}  {:>6.4f}{}{}\n", layer, a, a >= threshold ? '*' : ' ', bar(a, from), m,
                        m >= threshold ? '*' : ' ', bar(m, from));
  }
  return text;
}

Plot cosine_plot(const Json& report) {
  Plot plot;
  plot.title = "Cosine before and after each sublayer: " + subject(report);
  plot.x_title = "layer";
  plot.y_title = "average cosine";
  plot.series = {series_of("attention", report["attention"]), series_of("MLP", report["mlp"])};
  plot.reference = threshold;
  plot.y_least = origin(report);
  return plot;
}

}  // namespace cli
