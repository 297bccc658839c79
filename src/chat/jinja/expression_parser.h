// Expressions, by recursive descent; the order of binding is jinja2's: if-else, or, and, not, comparisons, + -, ~, * / // %, **, unary
// signs, then attributes, calls, filters and tests.
#pragma once

#include <string>
#include <vector>

#include "chat/jinja/lexer.h"
#include "chat/jinja/syntax.h"

namespace skipstone::chat::jinja {

/// Makes the nodes of expressions, and limits their number and depth.
class ExpressionNodes {
 public:
  using Kind = Expression::Kind;

  ExpressionPtr make(Kind kind, Position at);
  /// Takes the depth of its parts; throws where it is too deep.
  static ExpressionPtr finish(ExpressionPtr node);
  ExpressionPtr node(Kind kind, Position at, ExpressionPtr a, ExpressionPtr b = nullptr);
  ExpressionPtr binary(Operator op, Position at, ExpressionPtr left, ExpressionPtr right);
  ExpressionPtr number(const Token& token);

 private:
  std::size_t nodes_ = 0;
};

class ExpressionParser {
 public:
  ExpressionParser(TokenStream& stream, Symbols& symbols) : stream_(stream), symbols_(symbols) {}

  ExpressionPtr parse() { return conditional(); }
  /// "a", or "a, b" as a tuple. `with_if`: whether "x if y" belongs to it.
  ExpressionPtr tuple(bool with_if = true);
  ExpressionPtr parenthesized();
  std::vector<Argument> call_arguments();
  /// The filters after `input`; the first without its "|" where `inline_first`.
  ExpressionPtr filters(ExpressionPtr input, bool inline_first);
  /// Macros whose bodies are being parsed; the parser records in them which of the special names they use.
  std::vector<Macro*>& open_macros() { return open_macros_; }

 private:
  using Kind = Expression::Kind;

  ExpressionPtr conditional();
  ExpressionPtr logical_or();
  ExpressionPtr logical_and();
  ExpressionPtr logical_not();
  ExpressionPtr compare();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filter);
  ExpressionPtr primary();
  ExpressionPtr name(const Token& token);
  ExpressionPtr list();
  ExpressionPtr dict();
  ExpressionPtr postfix(ExpressionPtr node, bool with_filter);
  ExpressionPtr attribute(ExpressionPtr object);
  ExpressionPtr subscript(ExpressionPtr object);
  ExpressionPtr test(ExpressionPtr input);

  TokenStream& stream_;
  Symbols& symbols_;
  ExpressionNodes nodes_;
  std::vector<Macro*> open_macros_;
  int depth_ = 0;
};

}  // namespace skipstone::chat::jinja
