// A made-up vocabulary for tests of masks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/mutator.h"

namespace skipstone::grammar {

/// Tokens as vocabularies have them: bytes, words, punctuation with what follows it, parts of characters.
inline std::vector<std::string> made_up_vocabulary(std::size_t size) {
  std::vector<std::string> pieces(3);  // control tokens
  for (int byte = 0; byte < 256; ++byte) pieces.emplace_back(1, static_cast<char>(byte));
  for (const char* const piece : {"\": ", "\", \"", "\"}",  "{\"", "[{\"",     "}, {\"", "\"]",   "true", "false", "null",
                                  "},",   "é",      "\xC3", "😀",   "\xF0\x9F", "\\n",    "\\u00", "  ",   ", ",    "\":"})
    pieces.emplace_back(piece);
  for (std::size_t length = 20; length <= 100; length += 7)
    pieces.insert(pieces.end(), {std::string(length, '-'), std::string(length, 'a') + "\""});
  fuzz::Random random(7);
  while (pieces.size() < size) {
    std::string piece = random.below(2) == 0 ? " " : "";
    for (std::size_t length = 1 + random.below(7); length > 0; --length)
      piece += static_cast<char>(random.below(10) == 0 ? 33 + random.below(90) : 'a' + random.below(26));
    pieces.push_back(piece);
  }
  return pieces;
}

inline constexpr std::uint32_t end_token = 2;

}  // namespace skipstone::grammar
