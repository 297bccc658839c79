// What tests of grammars ask, whether a text fits and why a grammar is refused, and a vocabulary for tests of masks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fixtures/failure.h"
#include "fuzz/mutator.h"
#include "grammar/automaton.h"
#include "grammar/notations.h"

namespace skipstone::grammar {

inline bool fits(const std::shared_ptr<const Automaton>& automaton, std::string_view text) {
  State state = automaton->start();
  return state.advance(text) && state.accepts();
}

inline bool fits_gbnf(std::string_view grammar, std::string_view text) { return fits(Automaton::make(parse_gbnf(grammar)), text); }
inline bool fits_regex(std::string_view regex, std::string_view text) { return fits(Automaton::make(parse_regex(regex)), text); }
inline bool fits_schema(std::string_view schema, std::string_view text, Form form = Form::any) {
  return fits(Automaton::make(schema::parse_schema(schema, form)), text);
}

/// The sentence with which `make` refuses; "" where it does not.
template <typename Make>
std::string refusal(const Make& make) {
  return fixtures::failure_of(make).message;
}

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
