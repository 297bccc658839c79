// A made-up sweep for the tests of bench.
#pragma once

#include <array>

#include "bench/sweep_data.h"

namespace cli::bench {

/// Three prompts (lines 10, 20, 30), plain decoding and a drafter, each 11 tokens in the given seconds. Six drafts a prompt, half of them
/// accepted; those of the second prompt are all first ones.
inline Sweep three_prompts(const std::array<double, 3>& plain_seconds, const std::array<double, 3>& drafter_seconds) {
  Sweep sweep;
  sweep.setup.device = "a \"device\", with a comma";
  sweep.setup.date = "2026-01-02T03:04:05Z";
  sweep.setup.model = "model|name";
  sweep.drafters = {{"none", true}, {"asd:c=0.9,k=2", true}};
  for (std::size_t prompt = 0; prompt < 3; ++prompt) {
    sweep.prompts.push_back({{"text", 10 * (prompt + 1)}, {1, 2, 3}});
    for (std::size_t drafter = 0; drafter < 2; ++drafter) {
      Run run;
      run.prompt = prompt;
      run.drafter = drafter;
      run.tokens.assign(11, static_cast<skipstone_token>(prompt));
      run.stats.prompt_tokens = 3;
      run.stats.prompt_seconds = 0.5;
      run.stats.generated_tokens = 11;
      run.stats.generation_seconds = drafter == 0 ? plain_seconds[prompt] : drafter_seconds[prompt];
      run.stats.rounds = drafter == 0 ? 10 : 5;
      run.stats.sublayers = 8;
      if (drafter == 1) {
        run.stats.drafted = 6;
        run.stats.accepted = 3;
        run.stats.skipped_sublayers = prompt == 0 ? 4 : 2;
        if (prompt == 1) run.stats.by_position = {{6, 3}};
        if (prompt != 1) run.stats.by_position = {{4, 2}, {2, 1}};
      }
      sweep.runs.push_back(run);
    }
  }
  return sweep;
}

}  // namespace cli::bench
