// Numbers and texts that have broken readers of files.
#pragma once

#include <cstdint>
#include <string>

#include "fuzz/random.h"

namespace skipstone::fuzz {

/// In place of `value` in a file of `file_bytes`: around it, around the file's size, around powers of two, float patterns, any.
std::uint64_t hostile_number(std::uint64_t value, std::size_t file_bytes, Random& random);

/// In place of `text`: empty, long, control characters, bytes that are no UTF-8, format strings, another letter.
std::string hostile_text(std::string text, Random& random);

}  // namespace skipstone::fuzz
