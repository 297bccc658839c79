// The formats of strings that are enforced.
#pragma once

#include <string>

#include "grammar/json_text.h"

namespace skipstone::grammar::schema {

/// The texts of a format; null for one that is not enforced. What a model writes has no leap seconds, quoted local parts of addresses and
/// the like, which readers often refuse.
const TextAutomaton* find_format(const std::string& name, Form form);

}  // namespace skipstone::grammar::schema
