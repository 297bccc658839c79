// Damages chat templates: by their tags and expressions, and byte by byte.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skipstone::fuzz {

/// A damaged copy of one of `templates`, with parts of the others; the same for the same seed on every machine. It may happen to be sound.
std::string mutated_template(const std::vector<std::string>& templates, std::uint64_t seed);

}  // namespace skipstone::fuzz
