#include <fmt/format.h>

#include "base/escape.h"
#include "chat/jinja/lexer.h"

namespace skipstone::chat::jinja {
namespace {

std::string shown(const Token& token) {
  switch (token.kind) {
    case Token::Kind::end:
    case Token::Kind::text:
      return "the end of the template";
    case Token::Kind::output_begin:
    case Token::Kind::block_begin:
      return "the beginning of a tag";
    case Token::Kind::output_end:
    case Token::Kind::block_end:
      return "the end of the tag";
    case Token::Kind::string:
      return "a string";
    default:
      return fmt::format("'{}'", shortened(token.value, 40));
  }
}

}  // namespace

Token TokenStream::take() {
  Token& token = tokens_[at_];
  if (at_ + 1 == tokens_.size()) return token;
  ++at_;
  return std::move(token);
}

bool TokenStream::skip_symbol(const char* symbol) {
  if (!current().is(symbol)) return false;
  take();
  return true;
}

bool TokenStream::skip_name(std::string_view name) {
  if (!current().is_name(name)) return false;
  take();
  return true;
}

void TokenStream::expect_symbol(const char* symbol) {
  if (!skip_symbol(symbol)) fail_here(fmt::format("'{}'", symbol));
}

void TokenStream::expect(Token::Kind kind) {
  if (current().kind != kind)
    fail_here(kind == Token::Kind::block_end || kind == Token::Kind::output_end ? "the end of the tag" : "a name");
  take();
}

std::string TokenStream::expect_name() {
  if (current().kind != Token::Kind::name) fail_here("a name");
  return take().value;
}

void TokenStream::fail_here(const std::string& wanted) const {
  fail_at(current().at, wanted + " was expected, and " + shown(current()) + " is here");
}

}  // namespace skipstone::chat::jinja
