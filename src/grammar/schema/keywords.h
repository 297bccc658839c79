// What is done with each keyword of JSON Schema 2020-12.
#pragma once

#include <span>
#include <string_view>

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

}  // namespace skipstone::grammar::schema
