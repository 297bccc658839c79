// What stands behind "is".
#pragma once

#include <string>

#include "chat/jinja/arguments.h"

namespace skipstone::chat::jinja {

/// Throws invalid_argument for a test that there is not.
bool passes(Guard& guard, const std::string& name, const Value& value, const Arguments& arguments);

}  // namespace skipstone::chat::jinja
