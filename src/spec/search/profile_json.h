// How constants and expectations are written in profiles and in the state of a search.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "spec/search/round_model.h"

namespace skipstone::spec::search {

nlohmann::ordered_json to_json(const DraftConstants& constants);
nlohmann::ordered_json to_json(const Expected& expected);
/// Throw nlohmann's exceptions where a field is missing, bad_file where a value is out of its range.
DraftConstants constants_from(const nlohmann::ordered_json& object);
Expected expected_from(const nlohmann::ordered_json& object);

}  // namespace skipstone::spec::search
