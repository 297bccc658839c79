// Summarises single generations in a row for each drafter. Undefined values, such as a division by zero, are std::nullopt.
// The columns of all formats of the report are one table here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/sweep_data.h"
#include "json/json.h"
#include "results/statistics.h"

namespace cli::bench {

/// Tokens of the timed generation: all but the first, which the prompt's pass produces.
std::uint64_t timed_tokens(const RunStatistics& stats);

/// Timed tokens per second of generation; nullopt if there are none.
std::optional<double> generation_rate(const RunStatistics& stats);
/// Prompt tokens per second of prompt processing.
std::optional<double> prompt_rate(const RunStatistics& stats);

/// Results of one drafter over all runs. A "median" is over runs; a "total" is that of the sums.
struct Summary {
  std::string drafter;
  bool lossless = true;
  std::size_t prompts = 0, runs = 0;
  std::uint64_t prompt_tokens = 0, tokens = 0, timed_tokens = 0;
  std::uint64_t rounds = 0, drafted = 0, accepted = 0;
  std::vector<DraftPosition> by_position;
  double prompt_seconds = 0, generation_seconds = 0, draft_seconds = 0, verify_seconds = 0, round_seconds = 0, host_seconds = 0;
  std::uint32_t least_skipped = 0, most_skipped = 0, sublayers = 0;  ///< sublayers skipped in a draft, by run
  std::optional<double> prompt_rate_median, prompt_rate_total;       ///< tokens per second
  std::optional<double> rate_median, rate_total;                     ///< of generation, tokens per second
  /// Relative to plain decoding: the median of the ratios, each of two runs of the same prompt; the ratio of rate_total.
  std::optional<double> speedup_median, speedup_total;
  std::optional<double> speedup_lower, speedup_upper;  ///< the quartiles of these ratios
  bool left_out = false;                               ///< by --draft-optional: every run was plain decoding
  std::optional<double> tokens_per_round;              ///< timed tokens / rounds
  std::optional<double> acceptance;                    ///< accepted / drafted
  bool comparable = true;                              ///< whether texts can be compared: not with synthetic acceptance
  std::vector<std::size_t> differing;                  ///< prompts (indices) whose tokens are not those of plain decoding, ascending
};

/// "identical", or the number of prompts whose texts differ from plain decoding's; "-" if they cannot be compared.
std::string equality_text(const Summary& summary);

/// For each of sweep.runs: whether it has the tokens that plain decoding had the first time it continued that prompt. So plain decoding is
/// compared with itself as well if prompts are repeated.
std::vector<bool> identical_runs(const Sweep& sweep);

/// One for each of sweep.drafters, in their order.
std::vector<Summary> summarise(const Sweep& sweep);

/// A sentence about the first drafter that is declared lossless and was not; "" if there is none.
std::string lossless_violation(const Sweep& sweep);

struct Column {
  std::string_view name;   ///< in CSV and JSON, e.g. "speedup_median"
  std::string_view title;  ///< in a table for people; "" if it is for programs only
  /// null if undefined, as the acceptance without drafts.
  skipstone::Json (*value)(const Summary& summary);
  std::string (*text)(const Summary& summary);  ///< for people; "-" if undefined; null without a title
};

/// All columns, in the order of CSV and JSON.
std::span<const Column> columns();

/// Throws std::logic_error if no column has that name: names are constants of the program, not input.
const Column& column(std::string_view name);

}  // namespace cli::bench
