// Predicted rounds with a skip set, from one teacher-forced run over texts that the model has written: tokens per round for any
// number of drafts and any threshold, and with measured costs the time of a token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exec/layer_plan.h"
#include "speculation/acceptance.h"
#include "speculation/round_costs.h"

namespace skipstone::speculation::search {

/// A draft at one place of a text.
struct Drafted {
  bool agrees = false;    ///< with the token that the model has written there
  float probability = 0;  ///< that the draft pass gave its own choice
};
/// One for each token of a continuation but the first, in order.
using Trace = std::vector<Drafted>;

/// Most drafts of a round, when drafting stops before, and whether the drafts' work is used again in verification.
struct DraftConstants {
  std::uint32_t k = 12;
  bool keep_prefix = true;
  StopParams stop;
};

struct Expected {
  double tokens_per_round = 0, drafts_per_round = 0;
  double acceptance = 0;  ///< accepted / drafted; 0 where nothing is drafted
  double speedup = 0;     ///< against plain decoding
};

/// Plays the rounds. After a wrong draft the pass would read what it drafted; the probabilities of the text's own tokens are used there
/// instead, so a round may in truth be a draft longer or shorter.
Expected play(std::span<const Trace> traces, const DraftConstants& constants, const SetCosts& costs);

struct Best {
  DraftConstants constants;
  Expected expected;
};

/// The constants with the largest speed-up: numbers of drafts up to what the costs know, static thresholds, the adaptive threshold of Draft
/// & Verify, with and without the drafts' work used again.
Best best_rounds(std::span<const Trace> traces, const RoundCosts& costs, const exec::LayerPlan& set, std::uint32_t layers);

}  // namespace skipstone::speculation::search
