// The escapes of string literals, which are Python's (docs.python.org, "Lexical analysis", String and Bytes literals).
#pragma once

#include <string>
#include <string_view>

namespace skipstone::chat::jinja {

/// The text between the quotes, with its escapes resolved; unknown escapes stay as they are. Half surrogates become U+FFFD.
std::string unescaped(std::string_view literal);

/// 0 to 35; 99 for characters that are no digit in any base.
int digit_value(char c);

}  // namespace skipstone::chat::jinja
