// kernels::Choices as JSON, for the cache.
#pragma once

#include "json/json_fwd.h"
#include "kernels/choices.h"

namespace skipstone::tune {

/// {"matvec": [{"format": "Q8_0", "rows": 4, "choice": [lanes, k_lanes, rows, columns]}], "matmul": [{"format": "Q8_0", "shape": [n, rows],
/// "choice": [tile]}], "attention": [...]}
Json to_json(const kernels::Choices& choices);

/// Invalid entries are left out, whatever the document is.
kernels::Choices choices_from(const Json& document);

}  // namespace skipstone::tune
