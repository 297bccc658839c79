#include "bench/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <utility>

namespace cli::bench {

namespace {

/// The runs of plain decoding of each prompt.
class Baseline {
 public:
  explicit Baseline(const Sweep& sweep) {
    for (const Run& run : sweep.runs) {
      if (run.drafter == 0) runs_[{run.prompt, run.repeat}] = &run;
    }
  }

  /// The plain run of the same prompt and repeat, measured next to `run`.
  const Run& beside(const Run& run) const { return *runs_.at({run.prompt, run.repeat}); }

  const Run& first(const Run& run) const { return *runs_.lower_bound({run.prompt, 0})->second; }

 private:
  std::map<std::pair<std::size_t, std::uint32_t>, const Run*> runs_;
};

void add(const Run& run, Summary& sum) {
  const RunStatistics& s = run.stats;
  sum.least_skipped = sum.runs == 0 ? s.skipped_sublayers : std::min(sum.least_skipped, s.skipped_sublayers);
  sum.most_skipped = std::max(sum.most_skipped, s.skipped_sublayers);
  sum.sublayers = s.sublayers;
  ++sum.runs;
  if (run.repeat == 0) ++sum.prompts;
  sum.prompt_tokens += s.prompt_tokens;
  sum.tokens += s.generated_tokens;
  sum.timed_tokens += timed_tokens(s);
  sum.rounds += s.rounds;
  sum.drafted += s.drafted;
  sum.accepted += s.accepted;
  sum.prompt_seconds += s.prompt_seconds;
  sum.generation_seconds += s.generation_seconds;
  sum.draft_seconds += s.draft_seconds;
  sum.verify_seconds += s.verify_seconds;
  sum.round_seconds += s.round_seconds;
  sum.host_seconds += s.host_seconds;
  add_positions(s.by_position, sum.by_position);
}

Summary summarise_one(const Sweep& sweep, std::size_t drafter, const Baseline& baseline, const std::vector<bool>& identical) {
  Summary sum;
  sum.drafter = sweep.drafters[drafter].specification;
  sum.lossless = sweep.drafters[drafter].lossless;
  sum.comparable = sweep.setup.synthetic_acceptance.empty();
  sum.left_out = sum.drafter != "none";
  std::vector<double> prompt_rates, rates, speedups;
  const auto keep = [](std::vector<double>& values, std::optional<double> value) {
    if (value) values.push_back(*value);
  };
  for (std::size_t i = 0; i < sweep.runs.size(); ++i) {
    const Run& run = sweep.runs[i];
    if (run.drafter != drafter) continue;
    add(run, sum);
    sum.left_out = sum.left_out && run.stats.drafter == "none";
    const auto rate = generation_rate(run.stats), plain = generation_rate(baseline.beside(run).stats);
    keep(rates, rate);
    keep(prompt_rates, prompt_rate(run.stats));
    if (rate && plain) keep(speedups, quotient(*rate, *plain));
    if (sum.comparable && !identical[i]) sum.differing.push_back(run.prompt);
  }
  std::sort(sum.differing.begin(), sum.differing.end());
  sum.differing.erase(std::unique(sum.differing.begin(), sum.differing.end()), sum.differing.end());
  sum.prompt_rate_median = median(std::move(prompt_rates));
  sum.prompt_rate_total = quotient(static_cast<double>(sum.prompt_tokens), sum.prompt_seconds);
  sum.rate_median = median(std::move(rates));
  if (sum.timed_tokens > 0) sum.rate_total = quotient(static_cast<double>(sum.timed_tokens), sum.generation_seconds);
  sum.speedup_lower = quantile(speedups, 0.25);
  sum.speedup_upper = quantile(speedups, 0.75);
  sum.speedup_median = median(std::move(speedups));
  sum.tokens_per_round = quotient(static_cast<double>(sum.timed_tokens), static_cast<double>(sum.rounds));
  sum.acceptance = quotient(static_cast<double>(sum.accepted), static_cast<double>(sum.drafted));
  return sum;
}

std::string rate(std::optional<double> tokens_per_second) { return tokens_per_second ? fmt::format("{:.1f}", *tokens_per_second) : "-"; }

std::string ratio(std::optional<double> number) { return number ? fmt::format("{:.2f}", *number) : "-"; }

/// "76.9 %", or "-".
std::string percent(std::optional<double> share) { return share ? fmt::format("{:.1f} %", 100.0 * *share) : "-"; }

std::string share_of_generation(double seconds, const Summary& s) { return percent(quotient(seconds, s.generation_seconds)); }

std::string skipped(const Summary& s) {
  if (s.least_skipped == s.most_skipped) return fmt::format("{} of {}", s.most_skipped, s.sublayers);
  return fmt::format("{}-{} of {}", s.least_skipped, s.most_skipped, s.sublayers);
}

constexpr std::array<Column, 33> table = {{
    {"drafter", "drafter", [](const Summary& s) { return Json(s.drafter); },
     [](const Summary& s) { return s.drafter + (s.left_out ? " (left out)" : ""); }},
    {"left_out", "", [](const Summary& s) { return Json(s.left_out); }, nullptr},
    {"prompts", "prompts", [](const Summary& s) { return Json(s.prompts); }, [](const Summary& s) { return fmt::to_string(s.prompts); }},
    {"runs", "runs", [](const Summary& s) { return Json(s.runs); }, [](const Summary& s) { return fmt::to_string(s.runs); }},
    {"prompt_tokens", "", [](const Summary& s) { return Json(s.prompt_tokens); }, nullptr},
    {"prompt_seconds", "", [](const Summary& s) { return Json(s.prompt_seconds); }, nullptr},
    {"prompt_tokens_per_second_median", "prompt t/s", [](const Summary& s) { return value_of(s.prompt_rate_median); },
     [](const Summary& s) { return rate(s.prompt_rate_median); }},
    {"prompt_tokens_per_second_total", "total", [](const Summary& s) { return value_of(s.prompt_rate_total); },
     [](const Summary& s) { return rate(s.prompt_rate_total); }},
    {"tokens", "tokens", [](const Summary& s) { return Json(s.tokens); }, [](const Summary& s) { return fmt::to_string(s.tokens); }},
    {"timed_tokens", "", [](const Summary& s) { return Json(s.timed_tokens); }, nullptr},
    {"generation_seconds", "", [](const Summary& s) { return Json(s.generation_seconds); }, nullptr},
    {"tokens_per_second_median", "tokens/s", [](const Summary& s) { return value_of(s.rate_median); },
     [](const Summary& s) { return rate(s.rate_median); }},
    {"tokens_per_second_total", "total", [](const Summary& s) { return value_of(s.rate_total); },
     [](const Summary& s) { return rate(s.rate_total); }},
    {"speedup_median", "speed-up", [](const Summary& s) { return value_of(s.speedup_median); },
     [](const Summary& s) { return ratio(s.speedup_median); }},
    {"speedup_lower_quartile", "quartiles", [](const Summary& s) { return value_of(s.speedup_lower); },
     [](const Summary& s) { return s.speedup_lower ? ratio(s.speedup_lower) + " to " + ratio(s.speedup_upper) : "-"; }},
    {"speedup_upper_quartile", "", [](const Summary& s) { return value_of(s.speedup_upper); }, nullptr},
    {"speedup_total", "total", [](const Summary& s) { return value_of(s.speedup_total); },
     [](const Summary& s) { return ratio(s.speedup_total); }},
    {"rounds", "", [](const Summary& s) { return Json(s.rounds); }, nullptr},
    {"drafted", "drafted", [](const Summary& s) { return Json(s.drafted); }, [](const Summary& s) { return fmt::to_string(s.drafted); }},
    {"accepted", "accepted", [](const Summary& s) { return Json(s.accepted); },
     [](const Summary& s) { return fmt::to_string(s.accepted); }},
    {"tokens_per_round", "tokens/round", [](const Summary& s) { return value_of(s.tokens_per_round); },
     [](const Summary& s) { return ratio(s.tokens_per_round); }},
    {"acceptance", "acceptance", [](const Summary& s) { return value_of(s.acceptance); },
     [](const Summary& s) { return percent(s.acceptance); }},
    {"by_position", "", [](const Summary& s) { return positions_json(s.by_position); }, nullptr},
    {"draft_seconds", "draft", [](const Summary& s) { return Json(s.draft_seconds); },
     [](const Summary& s) { return share_of_generation(s.draft_seconds, s); }},
    {"verify_seconds", "verify", [](const Summary& s) { return Json(s.verify_seconds); },
     [](const Summary& s) { return share_of_generation(s.verify_seconds, s); }},
    {"round_seconds", "round", [](const Summary& s) { return Json(s.round_seconds); },
     [](const Summary& s) { return share_of_generation(s.round_seconds, s); }},
    {"host_seconds", "host", [](const Summary& s) { return Json(s.host_seconds); },
     [](const Summary& s) { return share_of_generation(s.host_seconds, s); }},
    {"skipped_sublayers_least", "skipped sublayers", [](const Summary& s) { return Json(s.least_skipped); }, skipped},
    {"skipped_sublayers_most", "", [](const Summary& s) { return Json(s.most_skipped); }, nullptr},
    {"sublayers", "", [](const Summary& s) { return Json(s.sublayers); }, nullptr},
    {"identical", "text", [](const Summary& s) { return s.comparable ? Json(s.differing.empty()) : Json(nullptr); }, equality_text},
    {"differing_prompts", "", [](const Summary& s) { return s.comparable ? Json(s.differing.size()) : Json(nullptr); }, nullptr},
    {"lossless", "lossless", [](const Summary& s) { return Json(s.lossless); },
     [](const Summary& s) { return std::string(s.lossless ? "yes" : "no"); }},
}};

}  // namespace

std::uint64_t timed_tokens(const RunStatistics& stats) { return stats.generated_tokens > 0 ? stats.generated_tokens - 1 : 0; }

std::optional<double> generation_rate(const RunStatistics& stats) {
  if (timed_tokens(stats) == 0) return std::nullopt;
  return quotient(static_cast<double>(timed_tokens(stats)), stats.generation_seconds);
}

std::optional<double> prompt_rate(const RunStatistics& stats) {
  return quotient(static_cast<double>(stats.prompt_tokens), stats.prompt_seconds);
}

std::string equality_text(const Summary& summary) {
  if (!summary.comparable) return "-";
  return summary.differing.empty() ? "identical" : fmt::format("{} of {} differ", summary.differing.size(), summary.prompts);
}

std::vector<bool> identical_runs(const Sweep& sweep) {
  const Baseline baseline(sweep);
  std::vector<bool> identical;
  for (const Run& run : sweep.runs) identical.push_back(run.tokens == baseline.first(run).tokens);
  return identical;
}

std::vector<Summary> summarise(const Sweep& sweep) {
  const Baseline baseline(sweep);
  const std::vector<bool> identical = identical_runs(sweep);
  std::vector<Summary> summaries;
  for (std::size_t drafter = 0; drafter < sweep.drafters.size(); ++drafter) {
    summaries.push_back(summarise_one(sweep, drafter, baseline, identical));
    Summary& last = summaries.back();
    const std::optional<double> plain = summaries.front().rate_total;
    if (last.rate_total && plain) last.speedup_total = quotient(*last.rate_total, *plain);
  }
  return summaries;
}

std::string lossless_violation(const Sweep& sweep) {
  for (const Summary& summary : summarise(sweep)) {
    if (!summary.lossless || summary.differing.empty()) continue;
    const std::size_t line = sweep.prompts[summary.differing.front()].prompt.line;
    return fmt::format(
        "with {} the text of {} of {} prompts{} is not that of plain decoding, which must never be; please run `skipstone doctor` and "
        "report what both say",
        summary.drafter, summary.differing.size(), summary.prompts, line == 0 ? "" : fmt::format(" (the first in line {})", line));
  }
  return "";
}

std::span<const Column> columns() { return table; }

const Column& column(std::string_view name) {
  for (const Column& candidate : table) {
    if (candidate.name == name) return candidate;
  }
  throw std::logic_error(fmt::format("bench has no column '{}'", name));
}

}  // namespace cli::bench
