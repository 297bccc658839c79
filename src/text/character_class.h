// Classes of characters as regular expressions have them: \w and \s with Unicode.
#pragma once

namespace skipstone::text {

/// A letter, mark, number or connector such as the underscore.
bool is_word_character(char32_t c);

bool is_space_character(char32_t c);

}  // namespace skipstone::text
