// UTF-8, strictly as in table 3-7 of The Unicode Standard, version 15: no overlong forms, no surrogates, nothing above U+10FFFF; and the
// byte-level alphabet of GPT-2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace skipstone::text {

/// The character at the front of a run of bytes.
struct Utf8Front {
  enum class Kind {
    character,   ///< a whole character of `size` bytes
    incomplete,  ///< the first bytes of a character whose other bytes are still missing; `size` counts the present ones
    invalid,     ///< `size` bytes that no further byte can turn into a character (a maximal subpart, Unicode 3.9)
  };
  Kind kind = Kind::invalid;
  std::size_t size = 1;
  char32_t code_point = 0;  ///< of a character
};

/// Reads the front of `bytes`, which must not be empty.
Utf8Front utf8_front(std::string_view bytes);

/// Whether the byte is a continuation byte of a character.
constexpr bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// Appends `code_point` (a Unicode scalar value) as UTF-8.
void append_utf8(std::string& out, char32_t code_point);

/// U+FFFD and U+2581 (SentencePiece's replacement for a space) as UTF-8.
inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";
inline constexpr std::string_view visible_space = "\xE2\x96\x81";

// ---- the byte-level alphabet of GPT-2 ----

// Each of the 256 bytes is written as one printable character, so that vocabularies and merges are plain text. Radford et al. 2019,
// "Language Models are Unsupervised Multitask Learners", section 2.2 and the released encoder.

/// The character that represents `byte`.
char32_t byte_level_character(unsigned char byte);

/// The bytes that `written` represents. Characters outside the alphabet (and bytes that are no UTF-8) stay as they are;
/// `pure`, where given, tells whether there was none of them.
std::string from_byte_level(std::string_view written, bool* pure = nullptr);

}  // namespace skipstone::text
