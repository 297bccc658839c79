// What tests of grammars ask: whether a text fits, and why a grammar is refused.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "grammar/automaton.h"
#include "grammar/gbnf.h"
#include "grammar/regex.h"
#include "grammar/schema/schema.h"

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
std::string refusal(Make&& make) {
  try {
    make();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace skipstone::grammar
