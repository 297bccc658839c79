// Tokens to a program.
#pragma once

#include <string_view>

#include "chat/jinja/syntax.h"

namespace skipstone::chat::jinja {

/// Throws invalid_argument with line and column for what is no template.
Program parse(std::string_view source);

}  // namespace skipstone::chat::jinja
