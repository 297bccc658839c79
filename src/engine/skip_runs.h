// Real runs of ways of drafting, interleaved with plain decoding.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/skip_search.h"

namespace skipstone::engine {

/// Every contender continues every prompt by `tokens`, taking turns with plain decoding, again and again for about `seconds` but once at
/// least; fills in what came out. Returns the runs of each; fewer than prompts where `go_on` (asked before each prompt, with the share that
/// is done) says no: then runs that not every contender has had do not count. Throws internal where a text is not plain decoding's.
std::uint32_t run_contenders(const std::shared_ptr<Engine>& engine, const std::vector<std::vector<text::Token>>& prompts,
                             std::uint32_t tokens, double seconds, std::vector<Contender>& contenders,
                             const std::function<bool(double)>& go_on);

}  // namespace skipstone::engine
