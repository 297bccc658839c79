// Runs prompts through drafters, interleaved: those of the command line, or those of a preset.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/sweep_data.h"
#include "skipstone/skipstone.hpp"

namespace cli::bench {

struct SweepOptions {
  std::vector<std::string> drafters;  ///< as drafter_list() gives them
  std::string prompts_file, model_path;
  std::uint32_t max_tokens = 128, repeats = 1;
  std::uint32_t made_up_tokens = 0;  ///< above 0: one prompt of this many pseudo-random tokens instead of texts
  skipstone_session_params sampling = skipstone::session_params();
  bool read_once = false;           ///< see Setup
  std::size_t rank = 0, ranks = 1;  ///< this process runs every `ranks`-th prompt, from `rank` on
};

/// Every drafter has its own session, which is reset before each prompt; a drafter keeps its learned state. All drafters continue a prompt
/// before the next one; the first drafter changes from prompt to prompt. Prompts that leave no room for max_tokens are skipped with a
/// warning; throws Failure if that leaves none. Shows progress on standard error. Ctrl-C ends the sweep after the current generation.
Sweep run_sweep(const skipstone::Engine& engine, const std::vector<Prompt>& prompts, const SweepOptions& options);

struct PresetOptions {
  std::string name;
  std::string skip_set;  ///< "" for ASD's skip set on the first prompt
  std::string plot;      ///< SVG file; "": none
};

/// run_sweep() over the preset's drafters. Writes the plot, and names the best point on standard error if the preset asks for it.
/// Throws as make_preset(), and Failure if the preset needs a skip set and there is none.
Sweep run_preset(const skipstone::Engine& engine, const std::vector<Prompt>& prompts, const PresetOptions& preset, SweepOptions sweep);

}  // namespace cli::bench
