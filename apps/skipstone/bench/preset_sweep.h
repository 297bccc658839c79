// Runs a preset's drafters.
#pragma once

#include <string>
#include <vector>

#include "bench/sweep.h"

namespace cli::bench {

struct PresetOptions {
  std::string name;
  std::string skip_set;  ///< "" for what ASD skips on the first prompt
  std::string plot;      ///< SVG file; "": none
};

/// run_sweep() over the preset's drafters. Writes the plot, and says on standard error which point was best where the preset asks for it.
/// Throws as make_preset(), and Failure where the preset needs a skip set and there is none.
Sweep run_preset(const skipstone::Engine& engine, const std::vector<Prompt>& prompts, const PresetOptions& preset, SweepOptions sweep);

}  // namespace cli::bench
