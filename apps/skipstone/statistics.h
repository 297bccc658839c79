// The statistics of a generation, for people (--stats) and for programs (--json).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "skipstone/skipstone.hpp"

namespace cli {

/// Aligned lines.
std::string statistics_text(const skipstone::Session& session);

/// The object "statistics" of --json.
nlohmann::ordered_json statistics_json(const skipstone::Session& session);

}  // namespace cli
