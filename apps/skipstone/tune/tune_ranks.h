// A skip-set search that the ranks of a job share: each rank's part, and the combined result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "json/json_fwd.h"

namespace cli {

/// code.json of rank 0, code.rank1.json of rank 1.
std::string profile_of_rank(const std::string& path, std::size_t rank);

/// The number of sets that a rank tries, so that all ranks together try `iterations`. Throws Failure if there are fewer sets than ranks.
std::uint32_t share_of_iterations(std::uint32_t iterations, std::size_t rank, std::size_t ranks);

/// The skipstone_tune() reports of all ranks as one document: the report of the rank with the fastest profile, and all ranks as "ranks".
/// A measured speed-up takes precedence over one that is only expected.
skipstone::Json merge_searches(const std::vector<skipstone::Json>& reports);

/// The ranks of such a document, a line each.
std::string ranks_text(const skipstone::Json& document);

}  // namespace cli
