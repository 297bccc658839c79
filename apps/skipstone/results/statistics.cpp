#include "results/statistics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "json/json.h"

namespace cli {
namespace {

double rate(std::uint64_t count, double seconds) { return seconds > 0 ? static_cast<double>(count) / seconds : 0.0; }

double share(std::uint64_t part, std::uint64_t whole) { return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole); }

std::string milliseconds(double seconds, double of_seconds) {
  return fmt::format("{:10.1f} ms  {:3.0f} %", 1000.0 * seconds, of_seconds > 0 ? 100.0 * seconds / of_seconds : 0.0);
}

}  // namespace

RunStatistics read_statistics(const skipstone::Session& session) { return parse_statistics(session.report()); }

RunStatistics parse_statistics(const std::string& text) {
  const auto report = skipstone::SortedJson::parse(text);
  const auto &corpus = report.at("corpus"), &early = report.at("early"), &seconds = report.at("seconds");
  RunStatistics s;
  s.stop_reason = report.at("stop_reason");
  s.drafter = report.at("drafter");
  s.skip_set = report.at("skip_set");
  s.chosen = report.at("chosen");
  s.prompt_tokens = report.at("prompt_tokens");
  s.generated_tokens = report.at("generated_tokens");
  s.rounds = report.at("rounds");
  s.device_rounds = report.at("device_rounds");
  s.pipelined_drafts = report.at("pipelined_drafts");
  s.drafted = report.at("drafted");
  s.accepted = report.at("accepted");
  s.skipped_sublayers = report.at("skipped_sublayers");
  s.sublayers = report.at("sublayers");
  s.refreshes = report.at("refreshes");
  s.refreshed_sets = report.at("refreshed_sets");
  s.corpus_tokens = corpus.at("tokens");
  s.corpus_bytes = corpus.at("bytes");
  s.corpus_seconds = corpus.at("seconds");
  s.lossy = report.at("lossy");
  s.early_tokens = early.at("tokens");
  s.early_layers = early.at("layers");
  s.early_confident = early.at("confident");
  s.early_guessed = early.at("guessed");
  s.early_full = early.at("full");
  s.guesses_rejected = early.at("rejected");
  s.prompt_seconds = seconds.at("prompt");
  s.generation_seconds = seconds.at("generation");
  s.draft_seconds = seconds.at("draft");
  s.verify_seconds = seconds.at("verify");
  s.round_seconds = seconds.at("round");
  s.refresh_seconds = seconds.at("refresh");
  s.host_seconds = seconds.at("host");
  s.device_seconds = seconds.at("device");
  s.remote_seconds = seconds.at("remote");
  s.pipelined_seconds = seconds.at("pipelined");
  for (const auto& at : report.at("by_position")) s.by_position.push_back({at.at("drafted"), at.at("accepted")});
  for (const auto& by : report.at("by_drafter"))
    s.by_drafter.push_back({by.at("drafter"), by.at("rounds"), by.at("drafted"), by.at("accepted")});
  for (const auto& by : report.at("by_strategy")) {
    s.strategies.push_back({by.at("strategy"), by.at("rows"), by.at("won_by_rank"), by.at("won_by_length")});
  }
  s.thresholds = report.at("thresholds").get<std::vector<float>>();
  s.attention_cosine = report.at("attention_cosine").get<std::vector<float>>();
  return s;
}

std::string statistics_text(const RunStatistics& s) {
  std::string text;
  const auto line = [&](const char* name, const std::string& value) { text += fmt::format("{:<20}{}\n", name, value); };
  line("prompt", fmt::format("{:10} tokens {:12.1f} tokens/s {:10.1f} ms", s.prompt_tokens, rate(s.prompt_tokens, s.prompt_seconds),
                             1000.0 * s.prompt_seconds));
  line("generation", fmt::format("{:10} tokens {:12.1f} tokens/s {:10.1f} ms", s.generated_tokens,
                                 rate(s.generated_tokens, s.generation_seconds), 1000.0 * s.generation_seconds));
  line("stopped by", fmt::format("{:>10}", s.stop_reason));
  line("drafter", fmt::format("{:>10}", s.drafter));
  line("rounds",
       s.device_rounds == 0 ? fmt::format("{:10}", s.rounds) : fmt::format("{:10}  {} of them one submission", s.rounds, s.device_rounds));
  if (s.by_drafter.size() > 1) {
    for (const DrafterShare& share : s.by_drafter) {
      line(&share == &s.by_drafter.front() ? "by drafter" : "",
           fmt::format("{:>10}  {} rounds, {} of {} drafts accepted", share.name.empty() ? "none" : share.name, share.rounds,
                       share.accepted, share.drafted));
    }
  }
  line("drafted", fmt::format("{:10}", s.drafted));
  line("accepted", fmt::format("{:10}  {:5.1f} % of the drafted", s.accepted, 100.0 * share(s.accepted, s.drafted)));
  line("tokens per round", fmt::format("{:10.2f}", share(s.generated_tokens, s.rounds)));
  std::size_t position = 0;
  for (const auto& [drafted, accepted] : s.by_position) {
    line(position == 0 ? "accepted by position" : "",
         fmt::format("{:10}  {:5.1f} %  ({} of {})", position + 1, 100.0 * share(accepted, drafted), accepted, drafted));
    ++position;
  }
  for (const Strategy& strategy : s.strategies) {
    const auto &ranks = strategy.won_by_rank, &lengths = strategy.won_by_length;
    line(("rows of " + strategy.name).c_str(),
         fmt::format("{:10}  won {} rounds; by rank {}; by tokens accepted {}", strategy.rows,
                     std::accumulate(ranks.begin(), ranks.end(), std::uint64_t{0}), fmt::join(ranks, " "), fmt::join(lengths, " ")));
  }
  line("skipped sublayers", fmt::format("{:10} of {}", s.skipped_sublayers, s.sublayers));
  if (!s.skip_set.empty()) line("skip set", fmt::format("{:>10}", s.skip_set));
  if (s.refreshes > 0) {
    line("refreshed",
         fmt::format("{:10}  {} times with another skip set, {:.1f} ms", s.refreshes, s.refreshed_sets, 1000.0 * s.refresh_seconds));
  }
  if (s.corpus_tokens > 0) {
    line("corpus", fmt::format("{:10} tokens, an index of {:.1f} MB, made in {:.2f} s", s.corpus_tokens,
                               1e-6 * static_cast<double>(s.corpus_bytes), s.corpus_seconds));
  }
  if (s.lossy) {
    line("LOSSY", "          the text need not be plain decoding's");
    line("exit layer",
         fmt::format("{:10.2f} on average; {} tokens left sure, {} on a guess, {} not at all; {} guesses given up",
                     share(s.early_layers, s.early_tokens), s.early_confident, s.early_guessed, s.early_full, s.guesses_rejected));
  }
  if (!s.chosen.empty()) line("chosen", s.chosen);
  line("draft", milliseconds(s.draft_seconds, s.generation_seconds));
  line("verify", milliseconds(s.verify_seconds, s.generation_seconds));
  if (s.device_rounds > 0) line("whole rounds", milliseconds(s.round_seconds, s.generation_seconds));
  if (s.remote_seconds > 0) {
    line("other devices", milliseconds(s.remote_seconds, s.generation_seconds) +
                              fmt::format("  of them {:.1f} ms of pipelined drafting ({} drafts that were used)",
                                          1000.0 * s.pipelined_seconds, s.pipelined_drafts));
  }
  line("host", milliseconds(s.host_seconds, s.generation_seconds));
  if (s.rounds > 0) {
    const auto round = [&](double seconds) { return 1e6 * seconds / static_cast<double>(s.rounds); };
    line("per round", fmt::format("{:10.0f} us: draft {:.0f}, verify {:.0f}; host work {:.0f} ({:.1f} %)", round(s.generation_seconds),
                                  round(s.draft_seconds), round(s.verify_seconds), round(s.generation_seconds - s.device_seconds),
                                  100.0 * (1.0 - s.device_seconds / s.generation_seconds)));
  }
  return text;
}

skipstone::Json statistics_json(const RunStatistics& s) {
  skipstone::Json positions = skipstone::Json::array();
  for (const auto& [drafted, accepted] : s.by_position) positions.push_back({{"drafted", drafted}, {"accepted", accepted}});
  skipstone::Json shares = skipstone::Json::array();
  for (const DrafterShare& share : s.by_drafter) {
    shares.push_back({{"drafter", share.name}, {"rounds", share.rounds}, {"drafted", share.drafted}, {"accepted", share.accepted}});
  }
  skipstone::Json strategies = skipstone::Json::array();
  for (const Strategy& strategy : s.strategies) {
    strategies.push_back({{"strategy", strategy.name},
                          {"rows", strategy.rows},
                          {"won_by_rank", strategy.won_by_rank},
                          {"won_by_length", strategy.won_by_length}});
  }
  return {{"prompt_tokens", s.prompt_tokens},
          {"generated_tokens", s.generated_tokens},
          {"prompt_tokens_per_second", rate(s.prompt_tokens, s.prompt_seconds)},
          {"generation_tokens_per_second", rate(s.generated_tokens, s.generation_seconds)},
          {"drafter", s.drafter},
          {"by_drafter", std::move(shares)},
          {"by_strategy", std::move(strategies)},
          {"corpus", {{"tokens", s.corpus_tokens}, {"bytes", s.corpus_bytes}, {"seconds", s.corpus_seconds}}},
          {"rounds", s.rounds},
          {"device_rounds", s.device_rounds},
          {"drafted", s.drafted},
          {"accepted", s.accepted},
          {"acceptance", share(s.accepted, s.drafted)},
          {"tokens_per_round", share(s.generated_tokens, s.rounds)},
          {"by_position", std::move(positions)},
          {"skipped_sublayers", s.skipped_sublayers},
          {"sublayers", s.sublayers},
          {"skip_set", s.skip_set},
          {"refreshes", s.refreshes},
          {"refreshed_sets", s.refreshed_sets},
          {"chosen", s.chosen},
          {"lossy", s.lossy},
          {"average_exit_layer", share(s.early_layers, s.early_tokens)},
          {"exits", {{"confident", s.early_confident}, {"guessed", s.early_guessed}, {"full", s.early_full}}},
          {"guesses_rejected", s.guesses_rejected},
          {"prompt_ms", 1000.0 * s.prompt_seconds},
          {"generation_ms", 1000.0 * s.generation_seconds},
          {"draft_ms", 1000.0 * s.draft_seconds},
          {"verify_ms", 1000.0 * s.verify_seconds},
          {"round_ms", 1000.0 * s.round_seconds},
          {"refresh_ms", 1000.0 * s.refresh_seconds},
          {"host_ms", 1000.0 * s.host_seconds},
          {"device_ms", 1000.0 * s.device_seconds},
          {"remote_ms", 1000.0 * s.remote_seconds},
          {"pipelined_drafts", s.pipelined_drafts},
          {"pipelined_ms", 1000.0 * s.pipelined_seconds}};
}

std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

std::optional<double> mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> standard_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const double middle = *mean(values);
  double sum = 0.0;
  for (const double value : values) sum += (value - middle) * (value - middle);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

std::optional<double> quotient(double dividend, double divisor) {
  if (!(divisor > 0)) return std::nullopt;
  return dividend / divisor;
}

}  // namespace cli
