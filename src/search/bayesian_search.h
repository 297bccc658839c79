// The strategy of `tune`: Bayesian optimisation of the expected speed-up over skip sets.
#pragma once

#include "speculation/search/strategy.h"

namespace skipstone::speculation::search {

/// Bayesian optimisation: the sets of `start` first, then `random_starts` random ones, then always the one with the largest expected
/// improvement that is found among neighbours of the best, their crossings and random sets.
std::unique_ptr<Strategy> bayesian_search(std::uint32_t layers, std::vector<exec::LayerPlan> start, std::uint32_t random_starts,
                                          std::uint64_t seed);

}  // namespace skipstone::speculation::search
