// The tests that follow "is".
#pragma once

#include <string>

#include "chat/jinja/arguments.h"

namespace skipstone::chat::jinja {

/// Throws invalid_argument for an unknown test.
bool passes(Guard& guard, const std::string& name, const Value& value, const Arguments& arguments);

}  // namespace skipstone::chat::jinja
