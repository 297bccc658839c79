// JSON Schema 2020-12 as a grammar.
#pragma once

#include <string_view>

#include "grammar/json_text.h"

namespace skipstone::grammar::schema {

/// The texts of the values that fit a schema. Every text of the form `writing` is one of the form `any` too. Throws invalid_argument for
/// text that is no schema, and for a schema that no value fits; unsupported, with the JSON pointer, for what is not enforced.
Syntax parse_schema(std::string_view text, Form form);

/// The texts of all JSON objects.
Syntax any_object(Form form);

}  // namespace skipstone::grammar::schema
