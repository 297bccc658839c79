#include <algorithm>

#include "base/status.h"
#include "base/stopwatch.h"
#include "engine/round_mode_policy.h"
#include "engine/skip_search.h"

namespace skipstone::engine {
namespace {

std::unique_ptr<Session> session_of(const std::shared_ptr<Engine>& engine, const std::string& draft) {
  SessionOptions options;
  options.draft = draft;
  return std::make_unique<Session>(engine, options);
}

struct Totals {
  std::uint64_t rounds = 0, tokens = 0, drafted = 0, accepted = 0;
};

}  // namespace

std::uint32_t run_candidates(const std::shared_ptr<Engine>& engine, const std::vector<std::vector<text::Token>>& prompts,
                             std::uint32_t tokens, double seconds, std::vector<SearchCandidate>& candidates,
                             const std::function<bool(double)>& go_on) {
  constexpr std::uint32_t warm_up = 24, most_repeats = 5;
  std::vector<std::unique_ptr<Session>> sessions;
  for (std::size_t i = 0; i <= candidates.size(); ++i) {
    sessions.push_back(session_of(engine, i == 0 ? "none" : candidates[i - 1].specification));
    sessions.back()->generate(prompts.front(), std::min(tokens, warm_up), {});
  }
  std::vector<Totals> totals(candidates.size());
  std::uint32_t runs = 0;
  const Stopwatch watch;
  const std::size_t groups = prompts.size() * most_repeats;
  for (std::size_t group = 0; group < groups && (group < prompts.size() || watch.seconds() < seconds); ++group) {
    if (!go_on(std::max(watch.seconds() / seconds, static_cast<double>(group) / static_cast<double>(groups)))) break;
    std::vector<speculation::Outcome> outcomes(sessions.size());
    for (std::size_t turn = 0; turn < sessions.size(); ++turn) {
      const std::size_t i = (group + turn) % sessions.size();
      sessions[i]->reset();
      outcomes[i] = sessions[i]->generate(prompts[group % prompts.size()], tokens, {});
    }
    ++runs;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const speculation::Outcome& outcome = outcomes[i + 1];
      if (outcome.tokens != outcomes[0].tokens) {
        fail(Code::internal, "'{}' gave another text than plain decoding; run doctor", candidates[i].specification);
      }
      candidates[i].speedups.push_back(outcomes[0].stats.generation_seconds / outcome.stats.generation_seconds);
      totals[i].rounds += outcome.stats.rounds;
      totals[i].tokens += outcome.tokens.size();
      totals[i].drafted += outcome.stats.drafted;
      totals[i].accepted += outcome.stats.accepted;
    }
  }
  for (std::size_t i = 0; i < candidates.size() && runs > 0; ++i) {
    const Totals& t = totals[i];
    const auto share = [](std::uint64_t part, std::uint64_t whole) {
      return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
    };
    candidates[i].speedup = median(candidates[i].speedups);
    candidates[i].acceptance = share(t.accepted, t.drafted);
    candidates[i].tokens_per_round = share(t.tokens, t.rounds);
  }
  return runs;
}

}  // namespace skipstone::engine
