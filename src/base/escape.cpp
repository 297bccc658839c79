#include "base/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace skipstone {
namespace {

struct Character {
  char32_t code = 0;
  std::size_t length = 0;  ///< 0 where the bytes are not UTF-8
};

/// The first character of a text that is not empty. Ill-formed sequences are those of table 3-7 of the Unicode standard.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  char32_t code = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return {};
    code = (code << 6) | (byte(i) & 0x3fu);
  }
  constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, length};
}

/// Control characters move the cursor or colour the terminal; bidirectional ones make a text look like another.
bool unsafe(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

/// The largest place up to `at` that is not in the middle of a character.
std::size_t boundary(std::string_view text, std::size_t at) {
  const std::size_t least = at < 3 ? 0 : at - 3;
  while (at > least && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0u) == 0x80u) --at;
  return at;
}

}  // namespace

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0u) != 0x80u; }));
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [code, length] = first_character(text);
    const std::size_t step = std::max<std::size_t>(length, 1);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (code == '\n') {
      out += "\\n";
    } else if (code == '\t') {
      out += "\\t";
    } else if (code == '\r') {
      out += "\\r";
    } else if (unsafe(code)) {
      out += fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(code));
    } else {
      out += text.substr(0, step);
    }
    text.remove_prefix(step);
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return escaped(text);
  return fmt::format("{}... ({} bytes)", escaped(text.substr(0, boundary(text, most))), text.size());
}

std::string message_text(std::string_view text) {
  constexpr std::size_t front = longest_message * 3 / 4, end = longest_message / 4 - 3;
  // An escape is longer than its character, so the truncated part need not be escaped first.
  std::string safe = text.size() <= 2 * longest_message
                         ? escaped(text)
                         : escaped(text.substr(0, longest_message)) + escaped(text.substr(text.size() - longest_message));
  if (safe.size() <= longest_message) return safe;
  std::size_t tail = safe.size() - end;
  while (tail < safe.size() && (static_cast<unsigned char>(safe[tail]) & 0xc0u) == 0x80u) ++tail;
  return safe.substr(0, boundary(safe, front)) + "..." + safe.substr(tail);
}

}  // namespace skipstone
