// What a sweep measured: every generation, before anything is made of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/prompts.h"
#include "bench/where.h"
#include "skipstone/skipstone.h"
#include "statistics.h"

namespace cli::bench {

struct Drafter {
  std::string specification;  ///< "asd:c=0.99"
  bool lossless = true;       ///< by the library's word; the sweep looks whether it is so
};

/// One prompt continued once by one drafter.
struct Run {
  std::size_t prompt = 0, drafter = 0;  ///< indices of Sweep::prompts and Sweep::drafters
  std::uint32_t repeat = 0;             ///< 0 the first time the prompt is run
  RunStatistics stats;
  std::vector<skipstone_token> tokens;
  std::size_t rank = 0;  ///< index of Sweep::ranks
  std::string report;    ///< what `stats` are of, where another rank is to read it
};

/// A process of a job that ran some of the prompts.
struct Rank {
  std::string device, driver;
};

struct SweepPrompt {
  Prompt prompt;
  std::vector<skipstone_token> tokens;
};

/// Where, with what and how it was measured.
struct Setup : Where {
  std::string prompts_file;                   ///< "" for made-up tokens
  std::uint32_t max_tokens = 0, repeats = 1;  ///< max_tokens: of each continuation
  skipstone_session_params sampling{};        ///< its pointers are not used
  std::vector<double> synthetic_acceptance;   ///< not empty: texts say nothing
  /// Each prompt but its last token is read by one session whose keys and values the others copy. Saves time where texts are compared;
  /// prompt speeds are then of single tokens, and what drafters learn from a prompt's pass (asd) is of its last token.
  bool read_once = false;
};

struct Sweep {
  Setup setup;
  std::vector<Drafter> drafters;     ///< the first is plain decoding
  std::vector<SweepPrompt> prompts;  ///< those that fit the context
  std::size_t prompts_skipped = 0;   ///< those that do not
  std::vector<Run> runs;             ///< for every prompt and repeat that is in it, one of each drafter
  std::vector<Rank> ranks;           ///< empty where one process ran all
  bool interrupted = false;          ///< not all prompts were run
};

}  // namespace cli::bench
