// JSON that a model wrote almost right.
#pragma once

#include <string>
#include <string_view>

namespace skipstone::chat {

/// `text` without the damage whose meaning is certain: control characters in strings and backslashes in front of characters that have no
/// escape become escapes, commas in front of closing brackets are left out, and True, False and None of Python are JSON's. The result need
/// not be JSON.
std::string repaired_json(std::string_view text);

}  // namespace skipstone::chat
