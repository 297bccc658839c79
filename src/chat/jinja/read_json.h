// JSON to values: objects keep their order, 1 and 1.0 stay two things, integers have as many digits as they have.
#pragma once

#include <string>
#include <string_view>

#include "chat/jinja/value.h"

namespace skipstone::chat::jinja {

/// `what` begins the error messages. Of a repeated key the last value counts, as with Python's json. Throws invalid_argument for text that
/// is not JSON, not UTF-8, or nests too deep.
Value read_json(std::string_view text, const std::string& what, Origin origin);

}  // namespace skipstone::chat::jinja
