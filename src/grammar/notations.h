// The notations of grammars: GBNF, regular expressions and JSON Schema.
#pragma once

#include <string>
#include <string_view>

#include "grammar/json_text.h"

namespace skipstone::grammar {

// ---- GBNF, llama.cpp's notation ----

/// Reads a grammar; the rule `root` is where texts begin. The result is finished (Syntax::finish). Throws invalid_argument, with line and
/// column, for text that is no GBNF, a rule that is used and not defined, or defined twice, and a left-recursive rule.
Syntax parse_gbnf(std::string_view text);

/// The grammar as GBNF: parse_gbnf() reads the same language from it. Throws invalid_argument for objects whose members come in any order,
/// which GBNF cannot express.
std::string to_gbnf(const Syntax& syntax);

// ---- regular expressions, in the subset that docs/grammar.md lists ----

enum class Anchoring {
  whole,   ///< the whole text has to fit; ^ and $ say what holds anyway
  search,  ///< a part of the text has to fit, as JSON Schema's `pattern` has it; ^ and $ tie it to the text's ends
};

/// Adds the expression to `syntax`: it consists of characters, sequences, choices and repetitions alone. Throws invalid_argument, with the
/// position in characters from 1, for what is no regular expression and for what the subset does not have, such as lookarounds.
ExprId add_regex(Syntax& syntax, std::string_view regex, Anchoring anchoring);

/// A grammar whose texts are those that the whole expression fits.
Syntax parse_regex(std::string_view regex);

// ---- JSON Schema 2020-12 ----

namespace schema {

/// The texts of the values that fit a schema. Every text of the form `writing` is one of the form `any` too. Throws invalid_argument for
/// text that is no schema, and for a schema that no value fits; unsupported, with the JSON pointer, for what is not enforced.
Syntax parse_schema(std::string_view text, Form form);

/// The texts of all JSON objects.
Syntax any_object(Form form);

}  // namespace schema
}  // namespace skipstone::grammar
