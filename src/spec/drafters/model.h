// Two-model speculation: a second, smaller model of the same vocabulary drafts.
// Leviathan et al., "Fast Inference from Transformers via Speculative Decoding", ICML 2023 (arXiv 2211.17192).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "spec/drafter.h"
#include "spec/options.h"
#include "spec/stop_policy.h"

namespace skipstone::spec {

struct ModelDrafterParams {
  std::string file;
  std::uint32_t max_drafts = 12;
  StopParams stop;
};

std::unique_ptr<Drafter> make_model(Options& options);

}  // namespace skipstone::spec
