#include "text/utf8.h"

#include "base/poll.h"
#include "text/tokenizer.h"

namespace skipstone::text {
namespace {

struct Lead {
  int continuation = -1;                               // how many bytes follow; -1: no character starts with this byte
  std::uint8_t second_low = 0x80, second_high = 0xBF;  // range of the second byte
};

// Table 3-7: only the second byte's range depends on the first.
Lead lead_of(std::uint8_t byte) {
  if (byte < 0x80) return {0};
  if (byte < 0xC2) return {-1};
  if (byte < 0xE0) return {1};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};
  if (byte < 0xF0) return {2};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte < 0xF4) return {3};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  return {-1};
}

}  // namespace

Utf8Front utf8_front(std::string_view bytes) {
  using Kind = Utf8Front::Kind;
  const auto first = static_cast<std::uint8_t>(bytes[0]);
  const Lead lead = lead_of(first);
  if (lead.continuation < 0) return {Kind::invalid, 1, 0};
  if (lead.continuation == 0) return {Kind::character, 1, first};
  const auto length = static_cast<std::size_t>(lead.continuation) + 1;
  auto code_point = static_cast<char32_t>(first & (0x3Fu >> lead.continuation));
  for (std::size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {Kind::incomplete, i, 0};
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    const std::uint8_t low = i == 1 ? lead.second_low : std::uint8_t{0x80};
    const std::uint8_t high = i == 1 ? lead.second_high : std::uint8_t{0xBF};
    if (byte < low || byte > high) return {Kind::invalid, i, 0};
    code_point = (code_point << 6) | (byte & 0x3Fu);
  }
  return {Kind::character, length, code_point};
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

std::size_t find_invalid_utf8(std::string_view text) {
  constexpr std::size_t stretch = 65536;  // takes about as long as a tokenizer's 4096 bytes
  std::size_t at = 0, next = stretch;
  while (at < text.size()) {
    if (at >= next) {
      poll(stretch / 16);
      next += stretch;
    }
    const Utf8Front front = utf8_front(text.substr(at));
    if (front.kind != Utf8Front::Kind::character) return at;
    at += front.size;
  }
  return std::string_view::npos;
}

}  // namespace skipstone::text
