// Sequential speculation as a drafter: a guess from the context's n-grams lowers the bar for leaving the model early. Lossy.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/number.h"
#include "base/status.h"
#include "speculation/drafters/drafters.h"

namespace skipstone::speculation {
namespace {

struct SequentialParams {
  std::vector<std::uint32_t> checks;  ///< empty: the exit the model was trained for, half way and three quarters of the way to its end
  EarlyExitRequest rule;
};

/// How far back guesses look: a scan of every round.
constexpr std::size_t most_history = 4096;

std::vector<std::uint32_t> parse_checks(const std::string& text) {
  std::vector<std::uint32_t> checks;
  for (std::size_t at = 0, end = 0; end < text.size(); at = end + 1) {
    end = std::min(text.find('/', at), text.size());
    const auto layer = parse_number<std::uint32_t>(std::string_view(text).substr(at, end - at));
    if (!layer || *layer <= (checks.empty() ? 0 : checks.back())) {
      fail(Code::invalid_argument, "drafter sequential: '{}' is no list of layers; write numbers that rise, as in sequential:8/12/16",
           text);
    }
    checks.push_back(*layer);
  }
  return checks;
}

class Sequential final : public Drafter {
 public:
  explicit Sequential(const SequentialParams& params) : params_(params) {}

  std::string name() const override { return "sequential"; }

  void attach(const ModelFacts& model) override {
    EarlyExitRequest& rule = params_.rule;
    rule.checks = params_.checks;
    if (rule.checks.empty()) {
      const std::uint32_t first = model.exit_layer != 0 ? model.exit_layer : model.layers / 2;
      const std::uint32_t rest = model.layers - first;
      const std::set<std::uint32_t> usual{first, first + rest / 2, first + 3 * rest / 4};
      for (const std::uint32_t layer : usual) {
        if (layer > 0 && layer < model.layers) rule.checks.push_back(layer);
      }
    }
    if (rule.checks.empty()) fail(Code::invalid_argument, "drafter sequential: a model of one layer has no early exit");
    if (rule.checks.back() >= model.layers) {
      fail(Code::invalid_argument,
           "drafter sequential: layer {} is no early exit of this model, which has {} layers; checks go from 1 to {}", rule.checks.back(),
           model.layers, model.layers - 1);
    }
  }

  Proposal propose(std::span<const Token> history) override {
    const NgramGuess guess = guess_by_ngram(history);
    EarlyExitRequest request = params_.rule;
    request.drafted = guess.token;
    request.drafted_share = guess.share;
    return request;
  }

 private:
  SequentialParams params_;
};

}  // namespace

NgramGuess guess_by_ngram(std::span<const Token> history) {
  if (history.size() > most_history) history = history.last(most_history);
  for (std::size_t length = 3; length >= 1; --length) {
    if (history.size() <= length) continue;
    const std::span<const Token> last = history.last(length);
    std::map<Token, std::pair<std::size_t, std::size_t>> followers;  // how often, and where last
    std::size_t all = 0;
    for (std::size_t at = 0; at + length < history.size(); ++at) {
      if (!std::ranges::equal(history.subspan(at, length), last)) continue;
      auto& [count, latest] = followers[history[at + length]];
      ++count;
      ++all;
      latest = at;
    }
    if (all == 0) continue;
    const auto best = std::ranges::max_element(followers, {}, [](const auto& follower) { return follower.second; });
    return {best->first, static_cast<double>(best->second.first) / static_cast<double>(all)};
  }
  return {};
}

std::unique_ptr<Drafter> make_sequential(Options& options) {
  SequentialParams params;
  params.checks = parse_checks(options.value("CHECKS"));
  EarlyExitRequest& rule = params.rule;
  rule.any = options.real("any", rule.any, 0.0, 1.0);
  rule.own = options.real("own", rule.own, 0.0, 1.0);
  rule.reject = options.real("reject", rule.reject, 0.0, 1.0);
  rule.mix = options.real("mix", rule.mix, 0.0, 1.0);
  rule.fill = options.flag("recompute", rule.fill == HoleFill::recompute) ? HoleFill::recompute : HoleFill::propagate;
  if (rule.reject > rule.own) {
    fail(Code::invalid_argument, "drafter sequential: reject={} would give a guess up that own={} accepts", rule.reject, rule.own);
  }
  return std::make_unique<Sequential>(params);
}

}  // namespace skipstone::speculation
