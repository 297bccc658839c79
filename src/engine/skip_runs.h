// Real runs of draft configurations, interleaved with plain decoding.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/skip_search.h"

namespace skipstone::engine {

/// Every candidate continues every prompt by `tokens`, taking turns with plain decoding, repeatedly for about `seconds` but at least once;
/// fills in the results. Returns the runs of each; fewer than prompts if `go_on` (called before each prompt with the completed share)
/// returns false: then runs that not every candidate has completed do not count. Throws internal if a text differs from plain decoding's.
std::uint32_t run_candidates(const std::shared_ptr<Engine>& engine, const std::vector<std::vector<text::Token>>& prompts,
                             std::uint32_t tokens, double seconds, std::vector<SearchCandidate>& candidates,
                             const std::function<bool(double)>& go_on);

}  // namespace skipstone::engine
