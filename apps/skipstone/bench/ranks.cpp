#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/report.h"
#include "bench/summary.h"
#include "json/json.h"
#include "results/fitted_grid.h"
#include "results/formats.h"
#include "terminal/exit_code.h"

namespace cli::bench {
namespace {

Run run_of(const skipstone::SortedJson& line, std::size_t rank, const Sweep& sweep) {
  Run run;
  run.prompt = line.at("prompt");
  run.drafter = line.at("drafter");
  run.repeat = line.at("repeat");
  run.tokens = line.at("tokens").get<std::vector<skipstone_token>>();
  run.stats = parse_statistics(line.at("report").get<std::string>());
  run.rank = rank;
  if (run.prompt >= sweep.prompts.size() || run.drafter >= sweep.drafters.size()) {
    fail(ExitCode::failure, "rank {} has other prompts or drafters than rank 0; give all the same files", rank);
  }
  return run;
}

/// "A + B", each name once.
std::string joined(const std::vector<Rank>& ranks, std::string Rank::*name) {
  std::vector<std::string> names;
  std::string text;
  for (const Rank& rank : ranks) {
    if (std::ranges::find(names, rank.*name) != names.end()) continue;
    names.push_back(rank.*name);
    text += (text.empty() ? "" : " + ") + rank.*name;
  }
  return text;
}

/// The summaries of each drafter on one rank.
std::vector<Summary> summaries_of_rank(const Sweep& sweep, std::size_t rank) {
  Sweep part;
  part.setup = sweep.setup;
  part.drafters = sweep.drafters;
  part.prompts = sweep.prompts;
  std::ranges::copy_if(sweep.runs, std::back_inserter(part.runs), [&](const Run& run) { return run.rank == rank; });
  return summarise(part);
}

}  // namespace

std::string rank_lines(const Sweep& sweep, std::size_t rank) {
  std::string lines = json_line("rank", {{"rank", rank},
                                         {"device", sweep.setup.device},
                                         {"driver", sweep.setup.driver},
                                         {"fingerprint", sweep.setup.fingerprint},
                                         {"interrupted", sweep.interrupted}});
  for (const Run& run : sweep.runs) {
    lines += json_line(
        "run", {{"prompt", run.prompt}, {"drafter", run.drafter}, {"repeat", run.repeat}, {"tokens", run.tokens}, {"report", run.report}});
  }
  return lines;
}

void merge_ranks(Sweep& sweep, const std::vector<skipstone::SortedJson>& lines) {
  sweep.runs.clear();
  for (const skipstone::SortedJson& line : lines) {
    if (line.at("record") == "rank") {
      if (line.at("fingerprint") != sweep.setup.fingerprint) {
        fail(ExitCode::bad_model, "'{}' is another model in rank {}", sweep.setup.model_path, sweep.ranks.size());
      }
      sweep.ranks.push_back({line.at("device"), line.at("driver")});
      sweep.interrupted = sweep.interrupted || line.at("interrupted").get<bool>();
    } else {
      sweep.runs.push_back(run_of(line, sweep.ranks.size() - 1, sweep));
    }
  }
  std::ranges::stable_sort(sweep.runs, {}, [](const Run& run) { return std::tuple(run.repeat, run.prompt); });
  sweep.setup.device = joined(sweep.ranks, &Rank::device);
  sweep.setup.driver = joined(sweep.ranks, &Rank::driver);
}

std::string ranks_text(const Sweep& sweep) {
  if (sweep.ranks.empty()) return "";
  std::vector<std::vector<std::string>> rows{{"rank", "device", "prompts", "tokens"}};
  for (const Drafter& drafter : sweep.drafters) rows.front().push_back(cell(drafter.specification));
  for (std::size_t rank = 0; rank < sweep.ranks.size(); ++rank) {
    const std::vector<Summary> summaries = summaries_of_rank(sweep, rank);
    std::uint64_t tokens = 0;
    for (const Summary& summary : summaries) tokens += summary.tokens;
    auto& row = rows.emplace_back(std::vector<std::string>{fmt::to_string(rank), cell(sweep.ranks[rank].device),
                                                           fmt::to_string(summaries.front().prompts), fmt::to_string(tokens)});
    for (const Summary& summary : summaries) row.push_back(summary.rate_total ? fmt::format("{:.1f}", *summary.rate_total) : "-");
  }
  return fmt::format("\nRanks: the prompts that each one has run, and tokens per second of generation, in total, with each drafter\n\n{}",
                     fitted_grid(rows, {.left = 2, .keys = 2}, output_width()));
}

Json ranks_json(const Sweep& sweep) {
  Json ranks = Json::array();
  for (std::size_t rank = 0; rank < sweep.ranks.size(); ++rank) {
    Json rates = Json::object();
    const std::vector<Summary> summaries = summaries_of_rank(sweep, rank);
    for (const Summary& summary : summaries) rates[summary.drafter] = summary.rate_total ? Json(*summary.rate_total) : Json(nullptr);
    ranks.push_back({{"rank", rank},
                     {"device", sweep.ranks[rank].device},
                     {"driver", sweep.ranks[rank].driver},
                     {"prompts", summaries.front().prompts},
                     {"tokens_per_second_total", std::move(rates)}});
  }
  return ranks;
}

}  // namespace cli::bench
