// `skipstone tune`: searches the sublayers that drafts of a model leave out, and confirms what it finds by real runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "spec/search/profile.h"
#include "spec/search/strategy.h"

namespace skipstone::engine {

struct SearchEvent {
  std::string stage;  ///< "writing texts", "measuring costs", "search", "random search", "real runs"
  double done = 0;    ///< of the stage, 0 to 1
  std::uint32_t evaluations = 0;
  double speedup = 0;    ///< expected of the best set so far; 0 before there is one
  std::string skip_set;  ///< the best so far
  std::string strategy;  ///< that found it
  double seconds = 0;    ///< since the start
};

struct SearchOptions {
  std::vector<std::vector<text::Token>> prompts;  ///< the first ones are searched on, further ones confirm
  std::string prompts_name;                       ///< for the profile
  std::string profile_path;                       ///< "": nothing is written. The state is kept beside it
  double minutes = 8;                             ///< for everything
  std::uint32_t iterations = 0;  ///< sets that the search looks at, and the random search after it; 0: what there is time for
  std::uint32_t tokens = 64;     ///< of each continuation
  std::uint64_t seed = 1;
  bool baseline = true;                              ///< a random search with as many sets, to compare
  std::unique_ptr<spec::search::Strategy> strategy;  ///< proposes sets behind those of Draft on the Fly, which it is told of
  std::function<bool(const SearchEvent&)> progress;  ///< false stops the search
};

/// A way of drafting that was run.
struct Contender {
  std::string name;           ///< "bayes 1", "asd's best set", "random's best set", "asd as it is"
  std::string specification;  ///< as --draft takes it
  std::string strategy, skip_set;
  spec::search::Best best;       ///< from the search; all zero for "asd as it is"
  std::vector<double> speedups;  ///< of single runs against plain decoding beside them
  double speedup = 0;            ///< their median; 0 where none was run
  double acceptance = 0, tokens_per_round = 0;
  bool is_set() const { return !skip_set.empty(); }
};

struct SearchReport {
  struct Course {
    std::string strategy;
    std::uint32_t evaluations = 0;
    double best = 0, seconds = 0;    ///< expected speed-up
    std::vector<double> best_after;  ///< each evaluation
  };
  std::vector<Course> courses;
  std::vector<Contender> contenders;  ///< the first of them with a set is the profile's
  spec::search::Profile profile;
  spec::RoundCosts costs;
  std::uint32_t evaluations = 0, resumed = 0;  ///< all sets that were looked at; those of them that an earlier run had looked at
  std::uint32_t search_prompts = 0, run_prompts = 0, runs = 0;
  bool stopped_early = false, interrupted = false;
  double text_seconds = 0, cost_seconds = 0, search_seconds = 0, run_seconds = 0, seconds = 0;
};

/// Nothing else may use the engine meanwhile. Throws invalid_argument where no prompt fits or the state beside the profile belongs to
/// another search, cancelled where `progress` stops it before a set was found. Where it does so later, the profile is the best set so far
/// without real runs, and the state lets the next call go on.
SearchReport search_skip_set(const std::shared_ptr<Engine>& engine, const SearchOptions& options);

}  // namespace skipstone::engine
