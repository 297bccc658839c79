#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/report.h"
#include "bench/summary.h"
#include "results/fitted_grid.h"
#include "results/formats.h"

namespace cli::bench {
namespace {

using Row = std::vector<std::string>;

std::string sampling_text(const skipstone_session_params& p) {
  if (p.temperature <= 0 && p.repeat_penalty == 1) return "greedy";
  std::string text = p.temperature <= 0 ? "greedy"
                                        : fmt::format("temperature {:g}, top-k {}, top-p {:g}, min-p {:g}, seed {}", p.temperature, p.top_k,
                                                      p.top_p, p.min_p, p.seed);
  if (p.repeat_penalty != 1) text += fmt::format(", repeat penalty {:g}", p.repeat_penalty);
  return text;
}

std::string setup_text(const Sweep& sweep, std::size_t prompts_run) {
  const Setup& s = sweep.setup;
  std::string text = device_text(s) + model_text(s);
  text += s.prompts_file.empty() ? fmt::format("- prompt: {} made-up tokens", sweep.prompts.front().tokens.size())
                                 : fmt::format("- prompts: {}, {} used", cell(s.prompts_file), prompts_run);
  if (s.repeats > 1) text += fmt::format(", each {} times", s.repeats);
  if (sweep.prompts_skipped > 0) text += fmt::format(", {} skipped that do not fit the context", sweep.prompts_skipped);
  if (s.read_once) text += "\n- prompts: read once but for the last token; their speeds say nothing";
  text += fmt::format("\n- generation: at most {} tokens, {}; context {}, KV cache {}\n", s.max_tokens, sampling_text(s.sampling),
                      s.context, s.kv_type);
  if (!s.synthetic_acceptance.empty()) {
    text += fmt::format(
        "- **synthetic acceptance** {}: whether the 1st, 2nd, ... draft is accepted is drawn, not found by the model; the times are real,\n"
        "  the texts say nothing and are not compared with plain decoding's\n",
        fmt::join(s.synthetic_acceptance, ", "));
  }
  if (sweep.interrupted)
    text += fmt::format("- **interrupted**: {} of {} prompts were run; this is what was complete\n", prompts_run, sweep.prompts.size());
  return text;
}

std::string table_text(const Table& table, std::span<const Summary> summaries) {
  std::vector<Row> rows(1);
  for (const std::string_view name : table.columns) rows.front().emplace_back(column(name).title);
  for (const Summary& summary : summaries) {
    Row& row = rows.emplace_back();
    for (const std::string_view name : table.columns) row.push_back(cell(column(name).text(summary)));
  }
  return fmt::format("\n{}\n\n{}", table.caption, fitted_grid(rows, {}, output_width()));
}

/// "" if nothing was drafted.
std::string positions_text(std::span<const Summary> summaries) {
  std::size_t most = 0;
  for (const Summary& summary : summaries) most = std::max(most, summary.by_position.size());
  if (most == 0) return "";
  std::vector<Row> rows(1, Row{"drafter"});
  for (std::size_t i = 0; i < most; ++i) rows.front().push_back(fmt::to_string(i + 1));
  for (const Summary& summary : summaries) {
    if (summary.by_position.empty()) continue;
    Row& row = rows.emplace_back(Row{cell(summary.drafter)});
    for (std::size_t i = 0; i < most; ++i) {
      const DraftPosition position = i < summary.by_position.size() ? summary.by_position[i] : DraftPosition{};
      const auto share = quotient(static_cast<double>(position.accepted), static_cast<double>(position.drafted));
      row.push_back(share ? fmt::format("{:.0f}", 100 * *share) : "-");
    }
  }
  return fmt::format("\nAcceptance by draft position: of the drafts that were n-th in their round, how many % were accepted\n\n{}",
                     fitted_grid(rows, {}, output_width()));
}

}  // namespace

std::string markdown(const Sweep& sweep, std::span<const Summary> summaries, std::span<const Table> tables) {
  std::string text = "# skipstone bench\n\n" + setup_text(sweep, summaries.front().prompts);
  for (const Table& table : tables) text += table_text(table, summaries);
  return text + positions_text(summaries);
}

}  // namespace cli::bench
