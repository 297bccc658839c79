// The byte-level alphabet of GPT-2: each of the 256 bytes is written as one printable character, so that vocabularies and merges are
// plain text. Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.2 and the released encoder.
#pragma once

#include <string>
#include <string_view>

namespace skipstone::text {

/// The character that represents `byte`.
char32_t byte_level_character(unsigned char byte);

/// The bytes that `written` represents. Characters outside the alphabet (and bytes that are no UTF-8) stay as they are;
/// `pure`, where given, tells whether there was none of them.
std::string from_byte_level(std::string_view written, bool* pure = nullptr);

}  // namespace skipstone::text
