// Runs prompts through drafters, interleaved.
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
  std::uint32_t made_up_tokens = 0;  ///< above 0: one prompt of so many pseudo-random tokens instead of texts
  skipstone_session_params sampling = skipstone::session_params();
  bool read_once = false;  ///< see Setup
  std::size_t rank = 0, ranks = 1;  ///< of the prompts, this process runs each `ranks`-th, from this one on
};

/// Every drafter has a session of its own, which is reset before each prompt, so what it learns it keeps. All drafters continue a prompt
/// before the next one comes; who is first changes from prompt to prompt. Prompts that leave no room for max_tokens are left out with a
/// warning; throws Failure where that leaves none. Says on standard error how far it is. Ctrl-C ends it after the generation that runs.
Sweep run_sweep(const skipstone::Engine& engine, const std::vector<Prompt>& prompts, const SweepOptions& options);

}  // namespace cli::bench
