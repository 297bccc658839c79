// A sweep whose prompts several processes of a job have run: each one's part as text, and all parts merged.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/records.h"
#include "bench/sweep_data.h"
#include "json/json_fwd.h"

namespace cli::bench {

/// A rank's runs as lines of JSON.
std::string rank_lines(const Sweep& sweep, std::size_t rank);

/// `sweep` is rank 0's, `lines` those of all ranks, in order; `sweep` then has the runs of all. Throws Failure if a rank ran another
/// model.
void merge_ranks(Sweep& sweep, const std::vector<skipstone::SortedJson>& lines);

/// A table: device, prompts and speeds of each rank; "" if there are none.
std::string ranks_text(const Sweep& sweep);
/// An object for each rank.
Json ranks_json(const Sweep& sweep);

}  // namespace cli::bench
