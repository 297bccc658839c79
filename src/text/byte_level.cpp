#include <array>
#include <cstdint>

#include "text/utf8.h"

namespace skipstone::text {
namespace {

// Bytes that are printable in Latin-1 map to themselves; the other 68 take the characters from U+0100 on, in order.
bool printable_in_latin1(unsigned byte) { return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE; }

struct Alphabet {
  std::array<char32_t, 256> character{};
  std::array<std::int16_t, 0x144> byte{};  // by character; -1: outside the alphabet

  Alphabet() {
    byte.fill(-1);
    char32_t next = 0x100;
    for (unsigned b = 0; b < 256; ++b) {
      const char32_t c = printable_in_latin1(b) ? static_cast<char32_t>(b) : next++;
      character[b] = c;
      byte[c] = static_cast<std::int16_t>(b);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}

}  // namespace

char32_t byte_level_character(unsigned char byte) { return alphabet().character[byte]; }

std::string from_byte_level(std::string_view written, bool* pure) {
  const Alphabet& letters = alphabet();
  std::string bytes;
  bytes.reserve(written.size());
  bool all_in_alphabet = true;
  while (!written.empty()) {
    const Utf8Front front = utf8_front(written);
    const bool known =
        front.kind == Utf8Front::Kind::character && front.code_point < letters.byte.size() && letters.byte[front.code_point] >= 0;
    if (known) {
      bytes.push_back(static_cast<char>(static_cast<unsigned char>(letters.byte[front.code_point])));
    } else {
      bytes.append(written.substr(0, front.size));
      all_in_alphabet = false;
    }
    written.remove_prefix(front.size);
  }
  if (pure != nullptr) *pure = all_in_alphabet;
  return bytes;
}

}  // namespace skipstone::text
