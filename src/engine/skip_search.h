// `skipstone tune`: searches the sublayers that drafts of a model leave out, and confirms the result by real runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "speculation/search/profile.h"
#include "speculation/search/strategy.h"

namespace skipstone::engine {

struct SearchEvent {
  std::string stage;  ///< "writing texts", "measuring costs", "search", "random search", "real runs"
  double done = 0;    ///< share of the stage, 0 to 1
  std::uint32_t evaluations = 0;
  double speedup = 0;    ///< expected of the best set so far; 0 before there is one
  std::string skip_set;  ///< the best so far
  std::string strategy;  ///< strategy that found it
  double seconds = 0;    ///< since the start
};

struct SearchOptions {
  std::vector<std::vector<text::Token>> prompts;  ///< the first ones are for the search, further ones for confirmation
  std::string prompts_name;                       ///< for the profile
  std::string profile_path;                       ///< "": nothing is written. The state is kept beside it
  double minutes = 8;                             ///< time limit in total
  std::uint32_t iterations = 0;                   ///< sets that the search evaluates, and the random search after it; 0: limited by time
  std::uint32_t tokens = 64;                      ///< length of each continuation
  std::uint64_t seed = 1;
  bool baseline = true;                                     ///< run a random search with as many sets for comparison
  std::unique_ptr<speculation::search::Strategy> strategy;  ///< proposes sets after those of Draft on the Fly, whose results it gets
  std::function<bool(const SearchEvent&)> progress;         ///< false stops the search
};

/// A draft configuration that was run.
struct SearchCandidate {
  std::string name;           ///< "bayes 1", "asd's best set", "random's best set", "asd as it is"
  std::string specification;  ///< in the notation of --draft
  std::string strategy, skip_set;
  speculation::search::Best best;  ///< from the search; all zero for "asd as it is"
  std::vector<double> speedups;    ///< of single runs against interleaved plain decoding
  double speedup = 0;              ///< their median; 0 if none was run
  double acceptance = 0, tokens_per_round = 0;
  bool is_set() const { return !skip_set.empty(); }
};

struct SearchReport {
  struct Trajectory {
    std::string strategy;
    std::uint32_t evaluations = 0;
    double best = 0, seconds = 0;    ///< expected speed-up
    std::vector<double> best_after;  ///< each evaluation
  };
  std::vector<Trajectory> trajectories;
  std::vector<SearchCandidate> candidates;  ///< the first of them with a set is the profile's
  speculation::search::Profile profile;
  speculation::RoundCosts costs;
  std::uint32_t evaluations = 0, resumed = 0;  ///< all evaluated sets; those of them that an earlier run had evaluated
  std::uint32_t search_prompts = 0, run_prompts = 0, runs = 0;
  bool stopped_early = false, interrupted = false;
  double text_seconds = 0, cost_seconds = 0, search_seconds = 0, run_seconds = 0, seconds = 0;
};

/// Nothing else may use the engine meanwhile. Throws invalid_argument if no prompt fits or the state beside the profile belongs to another
/// search, cancelled if `progress` stops it before a set was found. If `progress` stops it later, the profile is the best set so far
/// without real runs, and the next call continues from the state.
SearchReport search_skip_set(const std::shared_ptr<Engine>& engine, const SearchOptions& options);

/// Every candidate continues every prompt by `tokens`, taking turns with plain decoding, repeatedly for about `seconds` but at least once;
/// fills in the results. Returns the runs of each; fewer than prompts if `go_on` (called before each prompt with the completed share)
/// returns false: then runs that not every candidate has completed do not count. Throws internal if a text differs from plain decoding's.
std::uint32_t run_candidates(const std::shared_ptr<Engine>& engine, const std::vector<std::vector<text::Token>>& prompts,
                             std::uint32_t tokens, double seconds, std::vector<SearchCandidate>& candidates,
                             const std::function<bool(double)>& go_on);

}  // namespace skipstone::engine
