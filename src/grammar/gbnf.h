// GBNF, llama.cpp's notation for grammars: read and written.
#pragma once

#include <string>
#include <string_view>

#include "grammar/syntax.h"

namespace skipstone::grammar {

/// Reads a grammar; the rule `root` is where texts begin. The result is finished (Syntax::finish). Throws invalid_argument, with line and
/// column, for text that is no GBNF, a rule that is used and not defined, or defined twice, and a left-recursive rule.
Syntax parse_gbnf(std::string_view text);

/// The grammar as GBNF: parse_gbnf() reads the same language from it. Throws invalid_argument for objects whose members come in any order,
/// which GBNF cannot express.
std::string to_gbnf(const Syntax& syntax);

}  // namespace skipstone::grammar
