// --preset NAME: the experiments of the papers, as lists of drafters and their plots.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/speed.h"
#include "bench/sweep_data.h"
#include "results/charts.h"

namespace cli::bench {

/// The model properties that presets depend on.
struct PresetModel {
  std::uint32_t layers = 0;
  std::uint32_t exit_layer = 0;         ///< 0: the checkpoint does not say
  std::string skip_set;                 ///< "attn:...;mlp:..." or a profile's file: Draft & Verify's skip set
  std::vector<float> attention_cosine;  ///< by layer, over a prompt
};

/// A drafter and its place in the plot.
struct PresetPoint {
  std::string drafter, series;
  double x = 0;
};

/// The quantity that is plotted for a preset's points.
enum class PlotOf {
  speedup,           ///< medians against plain decoding
  thresholds,        ///< the draft-exit threshold over a prompt's rounds
  tokens_per_round,  ///< over all prompts
  tasks,             ///< speed-ups in groups, by task of the prompts
  strategies,        ///< of the first point: rounds won by each strategy, by tokens accepted and by rank
};

/// The preset whose --limit applies to each task, not to the file.
inline constexpr std::string_view task_preset = "spec-bench";

struct Preset {
  std::string name, title, x_title;
  bool bars = false;
  PlotOf plot_of = PlotOf::speedup;
  std::vector<PresetPoint> points;
  bool names_best = false;  ///< the fastest point is named in a sentence
};

/// "dv-table3, dv-table4, ..." for help and errors.
std::string preset_names();
bool is_preset(std::string_view name);
/// Whether its drafters depend on layer measurements on a prompt: PresetModel's skip set and cosines.
bool preset_needs_layers(std::string_view name);
/// Throws Failure for an unknown name, and if the experiment does not fit the model.
Preset make_preset(std::string_view name, const PresetModel& model);
/// "fastest: DRAFTER, 2.13 tokens per call, 1.91 times plain decoding; ..." of presets that name it, compared with the first point; else
/// "".
std::string best_point(const Preset& preset, const Sweep& sweep);
Plot plot_of(const Preset& preset, const Sweep& sweep);

// The experiments of N-Grammys: Stewart et al., 2024 (arXiv 2411.03786).

/// Tokens per call by k, for each strategy alone and mixed.
Preset ngrammys_fig2(const PresetModel& model);
/// (10, 10) and a grid of others, as trees; (10, 10) as a block.
Preset ngrammys_table1(const PresetModel& model);
/// (10, 10): lengths and ranks of accepted candidates, by strategy.
Preset ngrammys_fig4(const PresetModel& model);

/// The preset that measures passes and needs no texts.
inline constexpr std::string_view call_preset = "ngrammys-fig1";
/// A call of (k, w) for k from 1 to 25 and w from 1 to 14, after 25, 100 and 500 tokens, and one of a single row to compare with.
std::vector<Test> call_tests();
/// The cost of a call relative to one of a single row, over w, a line for each k and context.
Plot call_plot(const Speed& speed);

/// A table of the candidates' results by drafter and strategy, over all prompts; "" if no drafter has strategies.
std::string strategies_text(const Sweep& sweep);
/// The number of rounds won by accepted length and by rank, a line for each drafter and strategy.
std::vector<Series> strategy_series(const Sweep& sweep, std::size_t drafter);

}  // namespace cli::bench
