// Runs a preset's drafters.
#pragma once

#include <string>
#include <vector>

#include "bench/sweep.h"

namespace cli::bench {

struct PresetOptions {
  std::string name;
  std::string skip_set;  ///< "" for ASD's skip set on the first prompt
  std::string plot;      ///< SVG file; "": none
};

/// run_sweep() over the preset's drafters. Writes the plot, and names the best point on standard error if the preset asks for it.
/// Throws as make_preset(), and Failure if the preset needs a skip set and there is none.
Sweep run_preset(const skipstone::Engine& engine, const std::vector<Prompt>& prompts, const PresetOptions& preset, SweepOptions sweep);

}  // namespace cli::bench
