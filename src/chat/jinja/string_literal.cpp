#include "chat/jinja/lexer.h"
#include "text/utf8.h"

namespace skipstone::chat::jinja {

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

namespace {

void append_code(std::string& out, char32_t code) {
  const bool scalar = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  text::append_utf8(out, scalar ? code : 0xFFFD);
}

/// Reads `count` digits at `at`, or at most that number; false where there are too few.
bool read_code(std::string_view text, std::size_t at, int base, std::size_t least, std::size_t most, char32_t& code, std::size_t& used) {
  code = 0;
  for (used = 0; used < most && at + used < text.size() && digit_value(text[at + used]) < base; ++used) {
    code = code * static_cast<char32_t>(base) + static_cast<char32_t>(digit_value(text[at + used]));
  }
  return used >= least;
}

char simple_escape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    case '\\':
    case '\'':
    case '"':
      return c;
    default:
      return '\0';
  }
}

}  // namespace

std::string unescaped(std::string_view literal) {
  std::string out;
  out.reserve(literal.size());
  for (std::size_t i = 0; i < literal.size(); ++i) {
    const char next = literal[i] == '\\' && i + 1 < literal.size() ? literal[i + 1] : '\0';
    if (next == '\0') {
      out += literal[i];
      continue;
    }
    char32_t code = 0;
    std::size_t used = 0;
    const std::size_t width = next == 'x' ? 2 : next == 'u' ? 4 : next == 'U' ? 8 : 0;
    if (next == '\n') {
      ++i;
    } else if (const char simple = simple_escape(next); simple != '\0') {
      out += simple;
      ++i;
    } else if (width > 0 && read_code(literal, i + 2, 16, width, width, code, used)) {
      append_code(out, code);
      i += 1 + used;
    } else if (read_code(literal, i + 1, 8, 1, 3, code, used)) {
      append_code(out, code);
      i += used;
    } else {
      out += literal[i];
    }
  }
  return out;
}

}  // namespace skipstone::chat::jinja
