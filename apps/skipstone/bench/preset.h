// --preset NAME: the experiments of the papers, as lists of drafters and what is to be plotted of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/plot.h"
#include "bench/sweep_data.h"

namespace cli::bench {

/// What presets are made for.
struct PresetModel {
  std::uint32_t layers = 0;
  std::uint32_t exit_layer = 0;         ///< 0: the checkpoint does not say
  std::string skip_set;                 ///< "attn:...;mlp:..." or a profile's file: what Draft & Verify drafts with
  std::vector<float> attention_cosine;  ///< by layer, over a prompt
};

/// A drafter, and where its result goes in the plot.
struct PresetPoint {
  std::string drafter, series;
  double x = 0;
};

struct Preset {
  std::string name, title, x_title;
  bool bars = false;
  bool thresholds = false;  ///< the plot is of the draft-exit threshold over a prompt's rounds
  std::vector<PresetPoint> points;
};

/// "dv-table3, dv-table4, ..." for help and errors.
std::string preset_names();
bool is_preset(std::string_view name);
/// Throws Failure for a name that there is not, and where the experiment does not fit the model.
Preset make_preset(std::string_view name, const PresetModel& model);
/// Speed-ups (medians against plain decoding) of the preset's points; or the thresholds of the first prompt's rounds.
Plot plot_of(const Preset& preset, const Sweep& sweep);

}  // namespace cli::bench
