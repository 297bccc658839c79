// Messages between stages before the first pass, as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/stages.h"

namespace skipstone::engine {

/// One line.
std::string to_json(const StageState& state);
/// Parses all lines. Throws internal if they are invalid.
std::vector<StageState> states_from(std::string_view lines);
std::string to_json(const StageSetup& setup);
StageSetup setup_from(std::string_view text);

}  // namespace skipstone::engine
