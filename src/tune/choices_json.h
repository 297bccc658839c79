// kernels::Choices as the cache keeps them.
#pragma once

#include "json/json_fwd.h"
#include "kernels/choices.h"

namespace skipstone::tune {

/// {"matvec": [{"format": "Q8_0", "rows": 4, "choice": [lanes, k_lanes, rows, columns]}], "matmul": [{"format": "Q8_0", "shape": [n, rows],
/// "choice": [tile]}], "attention": [...]}
Json to_json(const kernels::Choices& choices);

/// Entries that are none are left out, whatever the document is.
kernels::Choices choices_from(const Json& document);

}  // namespace skipstone::tune
