#include "statistics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <vector>

namespace cli {
namespace {

double rate(std::uint64_t count, double seconds) { return seconds > 0 ? static_cast<double>(count) / seconds : 0.0; }

double share(std::uint64_t part, std::uint64_t whole) { return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole); }

std::string milliseconds(double seconds, double of_seconds) {
  return fmt::format("{:10.1f} ms  {:3.0f} %", 1000.0 * seconds, of_seconds > 0 ? 100.0 * seconds / of_seconds : 0.0);
}

}  // namespace

std::string statistics_text(const skipstone::Session& session) {
  const skipstone_stats s = session.stats();
  std::string text;
  const auto line = [&](const char* name, const std::string& value) { text += fmt::format("{:<20}{}\n", name, value); };
  line("prompt", fmt::format("{:10} tokens {:12.1f} tokens/s {:10.1f} ms", s.prompt_tokens, rate(s.prompt_tokens, s.prompt_seconds),
                             1000.0 * s.prompt_seconds));
  line("generation", fmt::format("{:10} tokens {:12.1f} tokens/s {:10.1f} ms", s.generated_tokens,
                                 rate(s.generated_tokens, s.generation_seconds), 1000.0 * s.generation_seconds));
  line("stopped by", fmt::format("{:>10}", skipstone_stop_reason_name(static_cast<skipstone_stop_reason>(s.stop_reason))));
  line("drafter", fmt::format("{:>10}", session.drafter()));
  line("rounds",
       s.device_rounds == 0 ? fmt::format("{:10}", s.rounds) : fmt::format("{:10}  {} of them one submission", s.rounds, s.device_rounds));
  if (const auto shares = session.drafter_shares(); shares.size() > 1) {
    for (const skipstone_drafter_share& share : shares) {
      line(&share == &shares.front() ? "by drafter" : "",
           fmt::format("{:>10}  {} rounds, {} of {} drafts accepted", *share.name == '\0' ? "nobody" : share.name, share.rounds,
                       share.accepted, share.drafted));
    }
  }
  line("drafted", fmt::format("{:10}", s.drafted));
  line("accepted", fmt::format("{:10}  {:5.1f} % of the drafted", s.accepted, 100.0 * share(s.accepted, s.drafted)));
  line("tokens per round", fmt::format("{:10.2f}", share(s.generated_tokens, s.rounds)));
  std::size_t position = 0;
  for (const auto& [drafted, accepted] : session.draft_positions()) {
    line(position == 0 ? "accepted by position" : "",
         fmt::format("{:10}  {:5.1f} %  ({} of {})", position + 1, 100.0 * share(accepted, drafted), accepted, drafted));
    ++position;
  }
  for (const skipstone_strategy& strategy : session.strategies()) {
    const std::span<const std::uint64_t> ranks(strategy.by_rank, strategy.ranks), lengths(strategy.by_length, strategy.lengths);
    line(("rows of " + std::string(strategy.name)).c_str(),
         fmt::format("{:10}  won {} rounds; by rank {}; by tokens accepted {}", strategy.rows,
                     std::accumulate(ranks.begin(), ranks.end(), std::uint64_t{0}), fmt::join(ranks, " "), fmt::join(lengths, " ")));
  }
  line("skipped sublayers", fmt::format("{:10} of {}", s.skipped_sublayers, s.sublayers));
  if (!session.skip_set().empty()) line("skip set", fmt::format("{:>10}", session.skip_set()));
  if (s.refreshes > 0) {
    line("refreshed",
         fmt::format("{:10}  {} times with another skip set, {:.1f} ms", s.refreshes, s.refreshed_sets, 1000.0 * s.refresh_seconds));
  }
  if (s.corpus_tokens > 0) {
    line("corpus", fmt::format("{:10} tokens, an index of {:.1f} MB, made in {:.2f} s", s.corpus_tokens,
                               1e-6 * static_cast<double>(s.corpus_bytes), s.corpus_seconds));
  }
  if (s.lossy != 0) {
    line("LOSSY", "          the text need not be plain decoding's");
    line("exit layer",
         fmt::format("{:10.2f} on average; {} tokens left sure, {} on a guess, {} not at all; {} guesses given up",
                     share(s.early_layers, s.early_tokens), s.early_confident, s.early_guessed, s.early_full, s.guesses_rejected));
  }
  if (!session.explanation().empty()) line("chosen", session.explanation());
  line("draft", milliseconds(s.draft_seconds, s.generation_seconds));
  line("verify", milliseconds(s.verify_seconds, s.generation_seconds));
  if (s.device_rounds > 0) line("whole rounds", milliseconds(s.round_seconds, s.generation_seconds));
  line("host", milliseconds(s.host_seconds, s.generation_seconds));
  if (s.rounds > 0) {
    const auto round = [&](double seconds) { return 1e6 * seconds / static_cast<double>(s.rounds); };
    line("per round", fmt::format("{:10.0f} us: draft {:.0f}, verify {:.0f}; host work {:.0f} ({:.1f} %)", round(s.generation_seconds),
                                  round(s.draft_seconds), round(s.verify_seconds), round(s.generation_seconds - s.device_seconds),
                                  100.0 * (1.0 - s.device_seconds / s.generation_seconds)));
  }
  return text;
}

nlohmann::ordered_json statistics_json(const skipstone::Session& session) {
  const skipstone_stats s = session.stats();
  nlohmann::ordered_json positions = nlohmann::ordered_json::array();
  for (const auto& [drafted, accepted] : session.draft_positions()) positions.push_back({{"drafted", drafted}, {"accepted", accepted}});
  nlohmann::ordered_json shares = nlohmann::ordered_json::array();
  for (const skipstone_drafter_share& share : session.drafter_shares()) {
    shares.push_back({{"drafter", share.name}, {"rounds", share.rounds}, {"drafted", share.drafted}, {"accepted", share.accepted}});
  }
  nlohmann::ordered_json strategies = nlohmann::ordered_json::array();
  for (const skipstone_strategy& strategy : session.strategies()) {
    strategies.push_back({{"strategy", strategy.name},
                          {"rows", strategy.rows},
                          {"won_by_rank", std::vector(strategy.by_rank, strategy.by_rank + strategy.ranks)},
                          {"won_by_length", std::vector(strategy.by_length, strategy.by_length + strategy.lengths)}});
  }
  return {{"prompt_tokens", s.prompt_tokens},
          {"generated_tokens", s.generated_tokens},
          {"prompt_tokens_per_second", rate(s.prompt_tokens, s.prompt_seconds)},
          {"generation_tokens_per_second", rate(s.generated_tokens, s.generation_seconds)},
          {"drafter", session.drafter()},
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
          {"skip_set", session.skip_set()},
          {"refreshes", s.refreshes},
          {"refreshed_sets", s.refreshed_sets},
          {"chosen", session.explanation()},
          {"lossy", s.lossy != 0},
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
          {"device_ms", 1000.0 * s.device_seconds}};
}

}  // namespace cli
