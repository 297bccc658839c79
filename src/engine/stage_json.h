// What stages tell each other before there are passes, as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/stages.h"

namespace skipstone::engine {

/// A line.
std::string to_json(const StageState& state);
/// Of all lines. Throws internal where they are none.
std::vector<StageState> states_from(std::string_view lines);
std::string to_json(const StageSetup& setup);
StageSetup setup_from(std::string_view text);

}  // namespace skipstone::engine
