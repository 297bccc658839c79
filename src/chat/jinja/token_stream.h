// The tokens of a template, as parsers consume them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/jinja/lexer.h"

namespace skipstone::chat::jinja {

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

}  // namespace skipstone::chat::jinja
