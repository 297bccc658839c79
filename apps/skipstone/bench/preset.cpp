#include "bench/preset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "bench/summary.h"
#include "bench/tasks.h"
#include "terminal/exit_code.h"

namespace cli::bench {
namespace {

using Make = Preset (*)(const PresetModel&);

/// Draft & Verify, table 3: fixed numbers of drafts, static thresholds, the adaptive one.
Preset dv_table3(const PresetModel& model) {
  Preset preset{"", "Draft exit: fixed K, static threshold, adaptive", "K, or ten times the threshold", false, PlotOf::speedup, {}};
  const std::string skip = "skip:" + model.skip_set;
  for (const int k : {2, 4, 6, 8}) preset.points.push_back({fmt::format("{},k={},gamma=0,adaptive=0", skip, k), "fixed K", double(k)});
  for (const int tenths : {2, 4, 6, 8}) {
    preset.points.push_back({fmt::format("{},k=12,gamma=0.{},adaptive=0", skip, tenths), "static threshold", double(tenths)});
  }
  preset.points.push_back({skip + ",k=12,gamma=0.6,adaptive=1", "adaptive, from 0.6", 6});
  return preset;
}

/// Draft & Verify, table 4: the adaptive threshold with different maximum numbers of drafts.
Preset dv_table4(const PresetModel& model) {
  Preset preset{"", "Most drafts K under the adaptive threshold", "K", false, PlotOf::speedup, {}};
  for (const int k : {2, 4, 6, 8, 10, 12, 16}) {
    preset.points.push_back({fmt::format("skip:{},k={},gamma=0.6,adaptive=1", model.skip_set, k), "adaptive", double(k)});
  }
  return preset;
}

/// Draft & Verify, figure 4: the number of skipped sublayers. Nested sets: attention sublayers by their cosine, two of them for every MLP
/// (the proportion of the paper's best sets), the MLPs of the same layers; the first and the last layer are not skipped.
Preset dv_fig4(const PresetModel& model) {
  if (model.layers < 4) fail(ExitCode::usage, "preset dv-fig4 needs a model of at least 4 layers");
  std::vector<std::uint32_t> order(model.layers - 2);
  std::iota(order.begin(), order.end(), 1u);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return model.attention_cosine[a] > model.attention_cosine[b]; });
  Preset preset{"", "Speed-up by number of skipped sublayers", "skipped sublayers", false, PlotOf::speedup, {}};
  const auto most = static_cast<std::uint32_t>(order.size());
  for (std::uint32_t attention = 2; attention <= most; attention += std::max(1u, most / 8)) {
    std::vector<std::uint32_t> skipped(order.begin(), order.begin() + attention), mlps(order.begin(), order.begin() + attention / 2);
    std::ranges::sort(skipped);
    std::ranges::sort(mlps);
    preset.points.push_back({fmt::format("skip:attn:{};mlp:{}", fmt::join(skipped, ","), fmt::join(mlps, ",")),
                             "attention by cosine, half as many MLPs", static_cast<double>(attention + mlps.size())});
  }
  return preset;
}

/// Draft & Verify, figure 5: trajectories of the threshold from different initial values.
Preset dv_fig5(const PresetModel& model) {
  Preset preset{"", "Draft-exit threshold over the rounds of a prompt", "round", false, PlotOf::thresholds, {}};
  for (const int tenths : {2, 4, 6, 8}) {
    preset.points.push_back(
        {fmt::format("skip:{},k=12,gamma=0.{},adaptive=1", model.skip_set, tenths), fmt::format("from 0.{}", tenths), 0});
  }
  return preset;
}

/// ASD, table 5: cosine selection and the two rules, one by one.
Preset asd_table5(const PresetModel&) {
  Preset preset{"", "ASD's rules, one by one", "", true, PlotOf::speedup, {}};
  preset.points = {{"asd:rule1=0,rule2=0", "cosine alone", 0},
                   {"asd:rule1=0", "cosine and rule 2", 1},
                   {"asd:cs=0", "rules 1 and 2", 2},
                   {"asd", "all", 3}};
  return preset;
}

/// LayerSkip, figures of section 6: exit layer by number of drafts.
Preset layerskip_sweep(const PresetModel& model) {
  if (model.layers < 2) fail(ExitCode::usage, "preset layerskip-sweep needs a model of at least 2 layers");
  Preset preset{"", "Exit layer and number of drafts", "exit layer E", false, PlotOf::speedup, {}};
  for (const int k : {2, 4, 6, 8}) {
    std::uint32_t last = 0;
    for (const std::uint32_t eighth : {1u, 2u, 3u, 4u, 5u, 6u, 7u}) {
      const std::uint32_t layer = std::max(1u, model.layers * eighth / 8);
      if (layer == last || layer >= model.layers) continue;
      last = layer;
      preset.points.push_back({fmt::format("exit:{},k={}", layer, k), fmt::format("K = {}", k), double(layer)});
    }
  }
  return preset;
}

/// Spec-Bench: every drafter that needs only the model, with defaults. `copy` needs a document for each prompt, `sequential` is lossy.
Preset spec_bench(const PresetModel& model) {
  Preset preset{"", "Speed-up by task", "", true, PlotOf::tasks, {}};
  for (const char* drafter : {"lookup", "suffix", "jacobi", "lookahead", "ngram", "recycle", "window", "asd"}) {
    preset.points.push_back({drafter, drafter, 0});
  }
  if (model.exit_layer != 0) preset.points.push_back({"exit", "exit", 0});
  preset.points.push_back({"auto", "auto", 0});
  return preset;
}

struct Entry {
  std::string_view name;
  Make make;
  bool needs_layers;
};

constexpr std::array<Entry, 10> presets = {{{"dv-table3", dv_table3, true},
                                            {"dv-table4", dv_table4, true},
                                            {"dv-fig4", dv_fig4, true},
                                            {"dv-fig5", dv_fig5, true},
                                            {"asd-table5", asd_table5, true},
                                            {"layerskip-sweep", layerskip_sweep, true},
                                            {"ngrammys-fig2", ngrammys_fig2, false},
                                            {"ngrammys-table1", ngrammys_table1, false},
                                            {"ngrammys-fig4", ngrammys_fig4, false},
                                            {task_preset, spec_bench, false}}};

std::vector<PlotPoint> thresholds_of(const Sweep& sweep, std::size_t drafter) {
  std::vector<PlotPoint> points;
  for (const Run& run : sweep.runs) {
    if (run.drafter != drafter || run.repeat != 0) continue;
    for (const float threshold : run.stats.thresholds) points.push_back({double(points.size() + 1), double(threshold)});
  }
  return points;
}

const char* y_title(PlotOf what) {
  switch (what) {
    case PlotOf::speedup:
    case PlotOf::tasks:
      return "speed-up against plain decoding";
    case PlotOf::thresholds:
      return "threshold";
    case PlotOf::tokens_per_round:
      return "tokens per call";
    case PlotOf::strategies:
      return "rounds";
  }
  return "";
}

std::string point_text(const Summary& summary) {
  return fmt::format("{}, {:.2f} tokens per call, {:.2f} times plain decoding", summary.drafter, summary.tokens_per_round.value_or(0.0),
                     summary.speedup_median.value_or(0.0));
}

}  // namespace

std::string best_point(const Preset& preset, const Sweep& sweep) {
  const std::vector<Summary> summaries = summarise(sweep);
  if (!preset.names_best || summaries.size() < 2) return "";
  const auto best = std::max_element(summaries.begin() + 1, summaries.end(), [](const Summary& a, const Summary& b) {
    return a.speedup_median.value_or(0.0) < b.speedup_median.value_or(0.0);
  });
  return fmt::format("fastest: {}; {}", point_text(*best), point_text(summaries[1]));
}

std::string preset_names() {
  std::string names;
  for (const Entry& entry : presets) names += (names.empty() ? "" : ", ") + std::string(entry.name);
  return names + ", " + std::string(call_preset);
}

bool preset_needs_layers(std::string_view name) {
  const auto entry = std::ranges::find(presets, name, &Entry::name);
  return entry != presets.end() && entry->needs_layers;
}

bool is_preset(std::string_view name) { return std::ranges::find(presets, name, &Entry::name) != presets.end(); }

Preset make_preset(std::string_view name, const PresetModel& model) {
  for (const Entry& entry : presets) {
    if (entry.name != name) continue;
    Preset preset = entry.make(model);
    preset.name = name;
    return preset;
  }
  fail(ExitCode::usage, "there is no preset '{}'; there are {}", name, preset_names());
}

Plot plot_of(const Preset& preset, const Sweep& sweep) {
  Plot plot;
  plot.title = fmt::format("{} ({})", preset.title, sweep.setup.model);
  plot.x_title = preset.x_title;
  plot.y_title = y_title(preset.plot_of);
  plot.bars = preset.bars;
  if (preset.plot_of == PlotOf::strategies) {
    plot.series = strategy_series(sweep, 1);
    return plot;
  }
  if (preset.plot_of != PlotOf::thresholds) plot.reference = 1;
  if (preset.plot_of == PlotOf::tasks) {
    plot_tasks(sweep, plot);
    return plot;
  }
  const std::vector<Summary> summaries = summarise(sweep);
  for (std::size_t i = 0; i < preset.points.size() && i + 1 < summaries.size(); ++i) {
    const PresetPoint& point = preset.points[i];
    auto series = std::ranges::find(plot.series, point.series, &Series::name);
    if (series == plot.series.end()) series = plot.series.insert(series, {point.series, {}});
    const Summary& summary = summaries[i + 1];
    const auto y = preset.plot_of == PlotOf::tokens_per_round ? summary.tokens_per_round : summary.speedup_median;
    if (preset.plot_of == PlotOf::thresholds) {
      series->points = thresholds_of(sweep, i + 1);
    } else if (y) {
      series->points.push_back({point.x, *y});
    }
  }
  return plot;
}

}  // namespace cli::bench
