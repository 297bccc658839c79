// Draft & Verify: the model itself with a fixed set of sublayers left out, and a draft exit that follows the acceptance rate.
// Zhang et al., "Draft & Verify: Lossless Large Language Model Acceleration via Self-Speculative Decoding", ACL 2024 (arXiv 2309.08168).
#pragma once

#include <memory>
#include <string>

#include "spec/drafters/plan_drafter.h"
#include "spec/options.h"

namespace skipstone::spec {

struct SkipParams {
  /// LayerPlan notation, or the name of a profile (search/profile.h): what ends in .json. Empty: ModelFacts::profile.
  std::string plan;
  double online = 0;  ///< share of the time in which the set is improved while generating; 0: it stays as it is
  PlanDrafterParams drafts;
};

std::unique_ptr<Drafter> make_skip(Options& options);

}  // namespace skipstone::spec
