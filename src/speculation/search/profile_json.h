// How constants and expectations are written in profiles and in the state of a search.
#pragma once

#include "json/json_fwd.h"
#include "speculation/search/round_model.h"

namespace skipstone::speculation::search {

Json to_json(const DraftConstants& constants);
Json to_json(const Expected& expected);
/// Throw nlohmann's exceptions where a field is missing, bad_file where a value is out of its range.
DraftConstants constants_from(const Json& object);
Expected expected_from(const Json& object);

}  // namespace skipstone::speculation::search
