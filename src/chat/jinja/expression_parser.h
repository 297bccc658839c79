// Expressions, by recursive descent; the order of binding is jinja2's: if-else, or, and, not, comparisons, + -, ~, * / // %, **, unary
// signs, then attributes, calls, filters and tests.
#pragma once

#include <string>
#include <vector>

#include "chat/jinja/syntax.h"
#include "chat/jinja/token_stream.h"

namespace skipstone::chat::jinja {

class ExpressionParser {
 public:
  ExpressionParser(TokenStream& stream, Symbols& symbols) : stream_(stream), symbols_(symbols) {}

  ExpressionPtr parse() { return conditional(); }
  /// "a", or "a, b" as a tuple. `with_if`: whether "x if y" belongs to it; `simple`: names and literals alone, up to `end_name`.
  ExpressionPtr tuple(bool with_if = true);
  ExpressionPtr parenthesized();
  Target target(const char* end_name, bool attributes);
  std::vector<Argument> call_arguments();
  /// The filters after `input`; the first without its "|" where `inline_first`.
  ExpressionPtr filters(ExpressionPtr input, bool inline_first);
  /// Macros whose bodies are being parsed; the parser records in them which of the special names they use.
  std::vector<Macro*>& open_macros() { return open_macros_; }

 private:
  using Kind = Expression::Kind;

  ExpressionPtr make(Kind kind, Position at);
  /// Takes the depth of its parts; throws where it is too deep.
  ExpressionPtr finish(ExpressionPtr node);
  ExpressionPtr node(Kind kind, Position at, ExpressionPtr a, ExpressionPtr b = nullptr);
  ExpressionPtr conditional();
  ExpressionPtr logical_or();
  ExpressionPtr logical_and();
  ExpressionPtr logical_not();
  ExpressionPtr compare();
  bool comparison(Operator& op);
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr binary(Operator op, Position at, ExpressionPtr left, ExpressionPtr right);
  ExpressionPtr unary(bool with_filter);
  ExpressionPtr primary();
  ExpressionPtr name(const Token& token);
  ExpressionPtr number(const Token& token);
  ExpressionPtr list();
  ExpressionPtr dict();
  ExpressionPtr postfix(ExpressionPtr node, bool with_filter);
  ExpressionPtr attribute(ExpressionPtr object);
  ExpressionPtr subscript(ExpressionPtr object);
  ExpressionPtr test(ExpressionPtr input);
  Target one_target(bool attributes);

  TokenStream& stream_;
  Symbols& symbols_;
  std::vector<Macro*> open_macros_;
  int depth_ = 0;
  std::size_t nodes_ = 0;
};

}  // namespace skipstone::chat::jinja
