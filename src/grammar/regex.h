// Regular expressions, in the subset that docs/grammar.md lists.
#pragma once

#include <string_view>

#include "grammar/syntax.h"

namespace skipstone::grammar {

enum class Anchoring {
  whole,   ///< the whole text has to fit; ^ and $ say what holds anyway
  search,  ///< a part of the text has to fit, as JSON Schema's `pattern` has it; ^ and $ tie it to the text's ends
};

/// Adds the expression to `syntax`: it consists of characters, sequences, choices and repetitions alone. Throws invalid_argument, with the
/// position in characters from 1, for what is no regular expression and for what the subset does not have, such as lookarounds.
ExprId add_regex(Syntax& syntax, std::string_view regex, Anchoring anchoring);

/// A grammar whose texts are those that the whole expression fits.
Syntax parse_regex(std::string_view regex);

}  // namespace skipstone::grammar
