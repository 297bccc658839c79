// Template source to tokens: text between tags, and the tags' contents. White space is dropped here, as jinja2 does with trim_blocks
// and lstrip_blocks (jinja.palletsprojects.com, "Template Designer Documentation", Whitespace Control).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skipstone::chat::jinja {

/// From 1; columns count characters.
struct Position {
  std::uint32_t line = 1, column = 1;
};

struct Token {
  enum class Kind { text, output_begin, output_end, block_begin, block_end, name, string, integer, real, symbol, end };
  Kind kind = Kind::end;
  std::string value;  ///< of texts and strings: their content; of symbols: "==", "(", ...
  Position at;

  bool is(const char* symbol) const { return kind == Kind::symbol && value == symbol; }
  bool is_name(std::string_view name) const { return kind == Kind::name && value == name; }
};

/// The last token is `end`. Throws invalid_argument with the place for source that is not UTF-8, too long, or has no such tokens.
std::vector<Token> tokens_of(std::string_view source);

/// Throws invalid_argument: "line 3, column 7: ...".
[[noreturn]] void fail_at(Position at, const std::string& what);

}  // namespace skipstone::chat::jinja
