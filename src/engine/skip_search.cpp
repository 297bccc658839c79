#include "engine/skip_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/hash.h"
#include "base/status.h"
#include "base/stopwatch.h"
#include "engine/measurements.h"
#include "engine/skip_texts.h"
#include "speculation/search/journal.h"
#include "speculation/search/strategy.h"

namespace skipstone::engine {
namespace {

using exec::LayerPlan;
using speculation::search::Evaluation;
using speculation::search::Journal;
using speculation::search::Strategy;
using Prompts = std::vector<std::vector<text::Token>>;

constexpr std::size_t search_prompts = 8, run_prompts = 8;
/// A search ends if this many sets have not gained `least_gain`.
constexpr std::size_t patience = 40;
constexpr double least_gain = 1.003;
constexpr double most_run_seconds = 150;

struct Stopped {};  // the caller has stopped the search

std::string hash_of(const Prompts& prompts) {
  Fnv1a hash;
  for (const auto& prompt : prompts) {
    hash.add(prompt.size());
    for (const text::Token token : prompt) hash.add(static_cast<std::uint64_t>(token));
  }
  return fmt::format("{:016x}", hash.value());
}

std::string state_path(const std::string& profile) {
  if (profile.empty()) return "";
  const std::string stem = profile.ends_with(".json") ? profile.substr(0, profile.size() - 5) : profile;
  return stem + ".state.json";
}

/// One call of search_skip_set().
class Search {
 public:
  Search(const std::shared_ptr<Engine>& engine, const SearchOptions& options)
      : engine_(engine), options_(options), layers_(engine->config().layer_count()) {}

  SearchReport run();

 private:
  /// A strategy's best sets, in order.
  struct StrategyResult {
    std::string strategy;
    std::vector<const Evaluation*> best;
  };

  void choose_prompts();
  void write_texts(SkipTexts& texts);
  void measure();
  const Evaluation& evaluate(SkipTexts& texts, const LayerPlan& set);
  StrategyResult follow(SkipTexts& texts, Strategy& strategy, const char* stage, std::size_t most, double until, bool may_stop_early);
  void search(SkipTexts& texts);
  void confirm();
  void add_candidate(const std::string& name, const std::string& strategy, const Evaluation& evaluation);
  void write_profile(bool measured);

  double seconds() const { return watch_.seconds(); }
  /// Reports progress to the caller; throws Stopped if it stops the search.
  void tell(const char* stage, double done);

  std::shared_ptr<Engine> engine_;
  const SearchOptions& options_;
  std::uint32_t layers_;
  Stopwatch watch_;
  Prompts searched_, run_;
  std::optional<Journal> journal_;
  std::vector<StrategyResult> found_;
  const Evaluation* best_ = nullptr;
  std::string best_strategy_;
  const char* stage_ = "";
  double done_ = 0;  ///< share of the stage that is done
  SearchReport report_;
};

void Search::tell(const char* stage, double done) {
  if (!options_.progress) return;
  SearchEvent event;
  event.stage = stage;
  event.done = std::min(1.0, done);
  event.evaluations = report_.evaluations;
  event.seconds = seconds();
  if (best_ != nullptr) {
    event.speedup = best_->best.expected.speedup;
    event.skip_set = best_->set.print(layers_);
    event.strategy = best_strategy_;
  }
  if (!options_.progress(event)) throw Stopped{};
}

/// The search uses the first prompts that fit; real runs use the next ones or, if there are none, the same.
void Search::choose_prompts() {
  for (const auto& prompt : options_.prompts) {
    if (prompt.empty() || prompt.size() + options_.tokens > engine_->memory().context) continue;
    if (searched_.size() < search_prompts) {
      searched_.push_back(prompt);
    } else if (run_.size() < run_prompts) {
      run_.push_back(prompt);
    }
  }
  if (searched_.empty()) {
    fail(Code::invalid_argument, "no prompt leaves room for {} tokens in a context of {}; ask for a larger context or fewer tokens",
         options_.tokens, engine_->memory().context);
  }
  if (run_.empty()) run_ = searched_;
}

void Search::write_texts(SkipTexts& texts) {
  const double start = seconds();
  for (std::size_t i = 0; i < searched_.size(); ++i) {
    tell("writing texts", static_cast<double>(i) / static_cast<double>(searched_.size()));
    texts.add(searched_[i], options_.tokens);
  }
  if (texts.size() == 0) fail(Code::invalid_argument, "the model ends every text before there are {} tokens of it", SkipTexts::block);
  report_.text_seconds = seconds() - start;
}

void Search::measure() {
  const double start = seconds();
  if (!journal_->costs()) {
    const auto step = [&](const std::string&, double done) { tell("measuring costs", done); };
    journal_->set_costs(round_costs(costs_of(engine_->state(), step)));
  }
  report_.costs = *journal_->costs();
  report_.cost_seconds = seconds() - start;
}

const Evaluation& Search::evaluate(SkipTexts& texts, const LayerPlan& set) {
  if (const Evaluation* known = journal_->find(set)) return *known;
  const double start = seconds();
  const std::vector<speculation::search::Trace> traces = texts.score(set, [&] { tell(stage_, done_); });
  journal_->add({set, speculation::search::best_rounds(traces, *journal_->costs(), set, layers_), seconds() - start});
  return *journal_->find(set);
}

Search::StrategyResult Search::follow(SkipTexts& texts, Strategy& strategy, const char* stage, std::size_t most, double until,
                                      bool may_stop_early) {
  SearchReport::Trajectory trajectory;
  trajectory.strategy = strategy.name();
  StrategyResult found{trajectory.strategy, {}};
  const double start = seconds();
  std::size_t last_gain = 0;
  double gained = 0;
  for (std::size_t i = 0; i < most && (i == 0 || seconds() < until); ++i) {
    const double of_time = (seconds() - start) / std::max(1.0, until - start);
    stage_ = stage;
    done_ = std::max(of_time, most < 1'000'000 ? static_cast<double>(i) / static_cast<double>(most) : 0.0);
    tell(stage_, done_);
    const std::optional<LayerPlan> set = strategy.next();
    if (!set) break;
    if (journal_->find(*set) != nullptr) ++report_.resumed;
    const Evaluation& evaluation = evaluate(texts, *set);
    const double value = evaluation.best.expected.speedup;
    strategy.tell(*set, value);
    ++report_.evaluations;
    ++trajectory.evaluations;
    trajectory.best = std::max(trajectory.best, value);
    trajectory.best_after.push_back(trajectory.best);
    found.best.push_back(&evaluation);
    if (best_ == nullptr || value > best_->best.expected.speedup) {
      best_ = &evaluation;
      best_strategy_ = trajectory.strategy;
    }
    if (trajectory.best > gained * least_gain) {
      gained = trajectory.best;
      last_gain = i;
    } else if (may_stop_early && i - last_gain >= patience) {
      report_.stopped_early = true;
      break;
    }
  }
  trajectory.seconds = seconds() - start;
  report_.trajectories.push_back(trajectory);
  std::ranges::stable_sort(found.best, std::ranges::greater{}, [](const Evaluation* e) { return e->best.expected.speedup; });
  return found;
}

void Search::search(SkipTexts& texts) {
  const double start = seconds(), all = 60 * options_.minutes;
  const double runs = std::min(most_run_seconds, all / 4), left = std::max(0.0, all - start - runs);
  const double until = start + (options_.baseline ? left / 2 : left);
  const std::size_t most = options_.iterations > 0 ? options_.iterations : std::size_t{1} << 30;

  const auto asd = speculation::search::given_sets("asd", speculation::search::asd_sets(layers_, texts.attention_cosine()));
  found_.push_back(follow(texts, *asd, "search", most, until, false));
  for (const Evaluation* evaluation : found_.front().best) options_.strategy->tell(evaluation->set, evaluation->best.expected.speedup);
  const std::size_t used = report_.evaluations;
  if (most > used) found_.push_back(follow(texts, *options_.strategy, "search", most - used, until, true));
  if (options_.baseline) {
    const auto random = speculation::search::random_search(layers_, options_.seed + 1);
    found_.push_back(follow(texts, *random, "random search", report_.evaluations, start + left, false));
  }
  report_.search_seconds = seconds() - start;
}

void Search::add_candidate(const std::string& name, const std::string& strategy, const Evaluation& evaluation) {
  SearchCandidate candidate;
  candidate.name = name;
  candidate.strategy = strategy;
  candidate.skip_set = evaluation.set.print(layers_);
  candidate.best = evaluation.best;
  candidate.specification = speculation::search::specification(candidate.skip_set, evaluation.best.constants);
  const auto same = [&](const SearchCandidate& other) { return other.specification == candidate.specification; };
  if (std::ranges::none_of(report_.candidates, same)) report_.candidates.push_back(std::move(candidate));
}

/// Compares the best sets of each strategy and ASD itself in real runs; the fastest set becomes the first.
void Search::confirm() {
  const double start = seconds();
  for (const StrategyResult& found : found_) {
    const std::size_t count = found.strategy == options_.strategy->name() ? 2 : 1;
    for (std::size_t i = 0; i < std::min(count, found.best.size()); ++i) {
      add_candidate(count == 1 ? fmt::format("{}'s best set", found.strategy) : fmt::format("{} {}", found.strategy, i + 1), found.strategy,
                    *found.best[i]);
    }
  }
  SearchCandidate plain_asd;
  plain_asd.name = "asd as it is";
  plain_asd.specification = plain_asd.strategy = "asd";
  report_.candidates.push_back(plain_asd);
  const double most = std::max(1.0, std::min(most_run_seconds, 60 * options_.minutes - start));
  report_.runs = run_candidates(engine_, run_, options_.tokens, most, report_.candidates, [&](double done) {
    tell("real runs", done);
    return true;
  });
  std::ranges::stable_sort(report_.candidates, [](const SearchCandidate& a, const SearchCandidate& b) {
    return a.is_set() != b.is_set() ? a.is_set() : a.speedup > b.speedup;
  });
  report_.run_seconds = seconds() - start;
}

void Search::write_profile(bool measured) {
  speculation::search::Profile& profile = report_.profile;
  const vk::Caps& caps = engine_->device();
  profile.model_name = engine_->config().name;
  profile.fingerprint = engine_->model_fingerprint();
  profile.layers = layers_;
  profile.origin = {best_strategy_,  options_.prompts_name, hash_of(searched_), report_.search_prompts,
                    options_.tokens, report_.evaluations,   options_.seed,      seconds(),
                    caps.name,       caps.driver_name};
  if (measured) {
    const SearchCandidate& winner = report_.candidates.front();
    profile.skip_set = winner.skip_set;
    profile.constants = winner.best.constants;
    profile.expected = winner.best.expected;
    profile.measured = {winner.speedup, winner.acceptance, winner.tokens_per_round, report_.run_prompts, report_.runs};
    profile.origin.strategy = winner.strategy;
  } else {
    profile.skip_set = best_->set.print(layers_);
    profile.constants = best_->best.constants;
    profile.expected = best_->best.expected;
  }
  if (!options_.profile_path.empty()) speculation::search::write_profile(profile, options_.profile_path);
}

SearchReport Search::run() {
  choose_prompts();
  const vk::Caps& caps = engine_->device();
  journal_.emplace(state_path(options_.profile_path),
                   speculation::search::JournalKey{engine_->model_fingerprint(), hash_of(searched_), caps.name + ", " + caps.driver_name,
                                                   static_cast<std::uint32_t>(searched_.size()), options_.tokens},
                   layers_);
  report_.search_prompts = static_cast<std::uint32_t>(searched_.size());
  report_.run_prompts = static_cast<std::uint32_t>(run_.size());
  bool measured = false;
  try {
    {
      measure();
      SkipTexts texts(*engine_);
      write_texts(texts);
      search(texts);
    }
    if (best_ != nullptr) confirm();
    measured = report_.runs > 0;
  } catch (const Stopped&) {
    report_.interrupted = true;
    report_.candidates.clear();
    if (best_ == nullptr) fail(Code::cancelled, "the search was stopped before it had looked at a set");
  }
  if (best_ == nullptr) fail(Code::invalid_argument, "this model has no set of sublayers that could be skipped");
  write_profile(measured);
  report_.seconds = seconds();
  return std::move(report_);
}

}  // namespace

SearchReport search_skip_set(const std::shared_ptr<Engine>& engine, const SearchOptions& options) {
  if (!(options.minutes > 0 && options.minutes <= 7 * 24 * 60)) {
    fail(Code::invalid_argument, "a search takes above 0 minutes and at most a week, not {} minutes", options.minutes);
  }
  if (!options.strategy) fail(Code::internal, "a search was started without a strategy");
  if (options.tokens < SkipTexts::block || options.tokens > engine->memory().context) {
    fail(Code::invalid_argument, "{} tokens for each text are too few or too many; {} to {} are possible in this context", options.tokens,
         SkipTexts::block, engine->memory().context);
  }
  return Search(engine, options).run();
}

}  // namespace skipstone::engine
