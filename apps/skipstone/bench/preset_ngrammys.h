// The experiments of N-Grammys: Stewart et al., 2024 (arXiv 2411.03786).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/plot.h"
#include "bench/preset.h"
#include "bench/speed.h"

namespace cli::bench {

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
