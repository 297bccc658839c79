// Characters as Python's str sees them: strings are sequences of code points. Arguments are well-formed UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace skipstone::chat::jinja {

/// Bytes of the character at `at`.
std::size_t character_size(std::string_view text, std::size_t at);
char32_t code_point_at(std::string_view text, std::size_t at);

std::size_t count_characters(std::string_view text);
/// The byte that character number `index` begins at; the end of the text for any index past the last.
std::size_t byte_of_character(std::string_view text, std::size_t index);

/// The result of str.isspace() for a character.
bool is_white_space(char32_t code);
/// Where the text begins without leading white space, and ends without trailing.
std::size_t strip_begin(std::string_view text);
std::size_t strip_end(std::string_view text);
/// The same with the characters of `set` instead of white space.
std::size_t strip_begin(std::string_view text, std::string_view set);
std::size_t strip_end(std::string_view text, std::string_view set);

enum class Letters { upper, lower };
/// One character in the other case; possibly several characters. By the Unicode data of PCRE2, and for sharp s and the Latin ligatures by
/// SpecialCasing.txt.
std::string with_case(std::string_view character, Letters letters);
/// Whether a character has the property: "L", "Lu", "Nd", ... (PCRE2's names).
bool has_property(std::string_view character, const char* property);
/// Whether repr() shows the character unescaped.
bool is_printable(std::string_view character);

/// The first place of `what` at or after `from`; npos: none. In linear time.
std::size_t find_text(std::string_view text, std::string_view what, std::size_t from);

}  // namespace skipstone::chat::jinja
