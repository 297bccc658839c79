// One change to a JSON text, by its tree: values, names, doubled and missing members, nesting, numbers that do not fit.
#pragma once

#include <string>

#include "fuzz/random.h"

namespace skipstone::fuzz {

/// Of a text that is no JSON, bytes are changed.
std::string mutate_json(const std::string& text, Random& random);

}  // namespace skipstone::fuzz
