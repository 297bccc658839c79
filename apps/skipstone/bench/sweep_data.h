// The raw data of a sweep: every generation, before any evaluation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/where.h"
#include "prompts/prompts.h"
#include "results/statistics.h"
#include "skipstone/skipstone.h"

namespace cli::bench {

struct Drafter {
  std::string specification;  ///< "asd:c=0.99"
  bool lossless = true;       ///< as declared by the library; the sweep checks it
};

/// One prompt continued once by one drafter.
struct Run {
  std::size_t prompt = 0, drafter = 0;  ///< indices of Sweep::prompts and Sweep::drafters
  std::uint32_t repeat = 0;             ///< 0 for the prompt's first run
  RunStatistics stats;
  std::vector<skipstone_token> tokens;
  std::size_t rank = 0;  ///< index of Sweep::ranks
  std::string report;    ///< the report that `stats` are from, if another rank needs it
};

/// A process of a job that ran some of the prompts.
struct Rank {
  std::string device, driver;
};

struct SweepPrompt {
  Prompt prompt;
  std::vector<skipstone_token> tokens;
};

/// The machine, program, model and settings of a sweep.
struct Setup : Where {
  std::string prompts_file;                   ///< "" for made-up tokens
  std::uint32_t max_tokens = 0, repeats = 1;  ///< max_tokens: of each continuation
  skipstone_session_params sampling{};        ///< its pointers are not used
  std::vector<double> synthetic_acceptance;   ///< not empty: texts are meaningless
  /// One session reads each prompt but its last token, and the others copy its keys and values. Saves time if only texts are compared;
  /// prompt speeds are then of single tokens, and drafters that learn from a prompt's pass (asd) see only its last token.
  bool read_once = false;
};

struct Sweep {
  Setup setup;
  std::vector<Drafter> drafters;     ///< the first is plain decoding
  std::vector<SweepPrompt> prompts;  ///< those that fit the context
  std::size_t prompts_skipped = 0;   ///< those that do not
  std::vector<Run> runs;             ///< one of each drafter for every included prompt and repeat
  std::vector<Rank> ranks;           ///< empty if one process ran all
  bool interrupted = false;          ///< not all prompts were run
};

}  // namespace cli::bench
