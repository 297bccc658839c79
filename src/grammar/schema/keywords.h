// What is done with each keyword of JSON Schema 2020-12, and with each of its formats of strings.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "grammar/json_text.h"

namespace skipstone::grammar::schema {

enum class Treatment {
  enforced,    ///< texts that break it do not fit
  annotation,  ///< says nothing about which values fit
};

struct Keyword {
  std::string_view name;
  Treatment treatment;
  const char* note;  ///< the limits of what is enforced; "" for none
};

/// All that schemas may contain, by name. Any other keyword is refused.
std::span<const Keyword> keywords();
/// Null for a keyword that is refused.
const Keyword* find_keyword(std::string_view name);

/// The texts of a format; null for one that is not enforced. What a model writes has no leap seconds, quoted local parts of addresses and
/// the like, which readers often refuse.
const TextAutomaton* find_format(const std::string& name, Form form);

}  // namespace skipstone::grammar::schema
