// Template source to tokens: text between tags, and the tags' contents. White space is dropped here, as jinja2 does with trim_blocks
// and lstrip_blocks (jinja.palletsprojects.com, "Template Designer Documentation", Whitespace Control).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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

/// The tokens of a template, as parsers consume them.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  Token take();
  bool skip_symbol(const char* symbol);
  bool skip_name(std::string_view name);
  void expect_symbol(const char* symbol);
  void expect(Token::Kind kind);
  std::string expect_name();
  [[noreturn]] void fail_here(const std::string& wanted) const;

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

// ---- the escapes of string literals, which are Python's (docs.python.org, "Lexical analysis", String and Bytes literals) ----

/// The text between the quotes, with its escapes resolved; unknown escapes stay as they are. Half surrogates become U+FFFD.
std::string unescaped(std::string_view literal);

/// 0 to 35; 99 for characters that are no digit in any base.
int digit_value(char c);

}  // namespace skipstone::chat::jinja
