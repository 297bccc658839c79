// LayerSkip: drafts leave the model after its first E layers, through the shared final norm and head; verification goes on from there.
// Elhoushi et al., "LayerSkip: Enabling Early Exit Inference and Self-Speculative Decoding", ACL 2024 (arXiv 2404.16710), section 3.3.
#pragma once

#include <cstdint>
#include <memory>

#include "spec/drafters/plan_drafter.h"
#include "spec/options.h"

namespace skipstone::spec {

struct ExitParams {
  std::uint32_t exit_layer = 0;  ///< layers that a draft runs; 0: the exit that the model says it was trained for
  /// The paper drafts a fixed number. A threshold above 0 ends a round where the exit is unsure, as in Draft & Verify.
  PlanDrafterParams drafts{.max_drafts = 6, .stop = {.gamma = 0.0, .adaptive = false}};
};

std::unique_ptr<Drafter> make_exit(Options& options);

}  // namespace skipstone::spec
