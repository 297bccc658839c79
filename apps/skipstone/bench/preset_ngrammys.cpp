#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "bench/preset.h"
#include "results/fitted_grid.h"
#include "results/formats.h"
#include "results/statistics.h"

namespace cli::bench {
namespace {

constexpr int top_ks[] = {1, 5, 10, 25};  // every point has its own KV cache

void add(std::vector<std::uint64_t>& sum, const std::vector<std::uint64_t>& more) {
  sum.resize(std::max(sum.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

/// The strategies of one drafter, over all runs, in the order in which they appear.
std::vector<Strategy> strategies_of(const Sweep& sweep, std::size_t drafter, std::uint64_t& rounds) {
  std::vector<Strategy> all;
  for (const Run& run : sweep.runs) {
    if (run.drafter != drafter) continue;
    rounds += run.stats.rounds;
    for (const Strategy& one : run.stats.strategies) {
      auto sum = std::ranges::find(all, one.name, &Strategy::name);
      if (sum == all.end()) sum = all.insert(sum, {one.name, 0, {}, {}});
      sum->rows += one.rows;
      add(sum->won_by_rank, one.won_by_rank);
      add(sum->won_by_length, one.won_by_length);
    }
  }
  return all;
}

Series series_of(const std::string& name, const std::vector<std::uint64_t>& counts) {
  Series series{name, {}};
  for (std::size_t i = 0; i < counts.size(); ++i) series.points.push_back({double(i + 1), double(counts[i])});
  return series;
}

}  // namespace

Preset ngrammys_fig2(const PresetModel&) {
  Preset preset{"", "Tokens per call by the number of rows k", "k", false, PlotOf::tokens_per_round, {}};
  struct Line {
    const char *series, *options;
  };
  // Blocks, since a tree is truncated at the rows of one pass, and this figure measures the strategies themselves.
  constexpr Line lines[] = {{"model unigram, w = 1", "w=1,context=0,bigram=0,unigram=1"},
                            {"model bigram, w = 1", "w=1,context=0"},
                            {"extended bigram, w = 10", "w=10,context=0"},
                            {"context n-gram, q = 1, w = 10", "w=10,q=1,bigram=0"},
                            {"context n-gram, q = 2, w = 10", "w=10,q=2,bigram=0"},
                            {"mixed, q = 1, w = 10", "w=10,q=1"}};
  for (const Line& line : lines) {
    for (const int k : top_ks) preset.points.push_back({fmt::format("ngram:k={},{},rows=block", k, line.options), line.series, double(k)});
  }
  return preset;
}

Preset ngrammys_table1(const PresetModel&) {
  Preset preset{"", "Speed-up by rows k and width w", "w", false, PlotOf::speedup, {}};
  preset.points.push_back({"ngram:k=10,w=10,rows=block", "k = 10, block", 10});
  for (const int k : {5, 10, 20, 25}) {
    for (const int w : {4, 6, 10, 14}) preset.points.push_back({fmt::format("ngram:k={},w={}", k, w), fmt::format("k = {}", k), double(w)});
  }
  preset.names_best = true;
  return preset;
}

Preset ngrammys_fig4(const PresetModel&) {
  Preset preset{"", "Rounds by tokens accepted, and by the winner's rank", "tokens accepted, or rank", false, PlotOf::strategies, {}};
  preset.points = {{"ngram:k=10,w=10", "tree", 0}, {"ngram:k=10,w=10,rows=block", "block", 0}};
  return preset;
}

std::vector<Test> call_tests() {
  std::vector<Test> tests;
  for (const std::uint32_t depth : {25u, 100u, 500u}) {
    tests.push_back({.rows = 1, .depth = depth});
    for (const std::uint32_t k : {1u, 5u, 10u, 20u, 25u}) {
      for (const std::uint32_t w : {1u, 3u, 6u, 10u, 14u}) tests.push_back({.rows = w + 1, .depth = depth, .chains = k});
    }
  }
  return tests;
}

Plot call_plot(const Speed& speed) {
  Plot plot;
  plot.title = fmt::format("Slow-down of one call of k rows of w + 1 tokens ({})", speed.where.model);
  plot.x_title = "row width w";
  plot.y_title = "time by that of a call of one token";
  plot.reference = 1;
  for (const TestResult& result : speed.results) {
    const auto cost = statistics(speed, result).cost;
    if (result.test.chains == 0 || !cost) continue;
    const std::string name = fmt::format("k = {}, context {}", result.test.chains, result.test.depth);
    auto series = std::ranges::find(plot.series, name, &Series::name);
    if (series == plot.series.end()) series = plot.series.insert(series, {name, {}});
    series->points.push_back({double(result.test.rows - 1), *cost});
  }
  return plot;
}

std::vector<Series> strategy_series(const Sweep& sweep, std::size_t drafter) {
  std::uint64_t rounds = 0;
  std::vector<Series> all;
  const std::vector<Strategy> strategies = strategies_of(sweep, drafter, rounds);
  all.reserve(2 * strategies.size());
  for (const Strategy& strategy : strategies) all.push_back(series_of(strategy.name + ", length", strategy.won_by_length));
  for (const Strategy& strategy : strategies) all.push_back(series_of(strategy.name + ", rank", strategy.won_by_rank));
  return all;
}

std::string strategies_text(const Sweep& sweep) {
  std::vector<std::vector<std::string>> rows{
      {"drafter", "strategy", "rows per round", "rounds won", "by rank (first, second, ...)", "by tokens accepted (1, 2, ...)"}};
  for (std::size_t drafter = 0; drafter < sweep.drafters.size(); ++drafter) {
    std::uint64_t rounds = 0;
    for (const Strategy& strategy : strategies_of(sweep, drafter, rounds)) {
      const auto won = std::accumulate(strategy.won_by_rank.begin(), strategy.won_by_rank.end(), std::uint64_t{0});
      rows.push_back({cell(sweep.drafters[drafter].specification), strategy.name,
                      fmt::format("{:.2f}", quotient(double(strategy.rows), double(rounds)).value_or(0.0)),
                      fmt::format("{} of {}", won, rounds), fmt::format("{}", fmt::join(strategy.won_by_rank, " ")),
                      fmt::format("{}", fmt::join(strategy.won_by_length, " "))});
    }
  }
  if (rows.size() == 1) return "";
  return "\nCandidates by strategy: a round is won by the candidate that most was accepted of\n\n" +
         fitted_grid(rows, {.left = 2, .keys = 2}, output_width());
}

}  // namespace cli::bench
