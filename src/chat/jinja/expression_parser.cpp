#include "chat/jinja/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>

namespace skipstone::chat::jinja {

ExpressionPtr ExpressionParser::make(Kind kind, Position at) {
  if (++nodes_ > most_nodes) fail_at(at, "the template has more than " + std::to_string(most_nodes) + " parts");
  auto made = std::make_unique<Expression>();
  made->kind = kind;
  made->at = at;
  return made;
}

ExpressionPtr ExpressionParser::finish(ExpressionPtr made) {
  int deepest = 0;
  for (const ExpressionPtr& child : made->children) deepest = std::max(deepest, child ? child->depth : 0);
  for (const Argument& argument : made->arguments) deepest = std::max(deepest, argument.value->depth);
  made->depth = deepest + 1;
  if (made->depth > most_syntax_depth)
    fail_at(made->at, "the expression nests more than " + std::to_string(most_syntax_depth) + " levels deep");
  return made;
}

ExpressionPtr ExpressionParser::node(Kind kind, Position at, ExpressionPtr a, ExpressionPtr b) {
  ExpressionPtr made = make(kind, at);
  made->children.push_back(std::move(a));
  if (b) made->children.push_back(std::move(b));
  return finish(std::move(made));
}

ExpressionPtr ExpressionParser::tuple(bool with_if) {
  const Position at = stream_.current().at;
  const auto part = [&] { return with_if ? conditional() : logical_or(); };
  const auto ends = [&] {
    const Token& t = stream_.current();
    return t.kind == Token::Kind::block_end || t.kind == Token::Kind::output_end || t.is(")") || (!with_if && t.is_name("recursive"));
  };
  ExpressionPtr first = part();
  if (!stream_.current().is(",")) return first;
  ExpressionPtr made = make(Kind::tuple, at);
  made->children.push_back(std::move(first));
  while (stream_.skip_symbol(",") && !ends()) made->children.push_back(part());
  return finish(std::move(made));
}

ExpressionPtr ExpressionParser::parenthesized() {
  const Position at = stream_.current().at;
  stream_.expect_symbol("(");
  if (stream_.skip_symbol(")")) return make(Kind::tuple, at);
  ExpressionPtr inner = tuple();
  stream_.expect_symbol(")");
  return inner;
}

Target ExpressionParser::one_target(bool attributes) {
  Target target;
  target.at = stream_.current().at;
  if (stream_.skip_symbol("(")) {
    target.parts = std::move(this->target(nullptr, attributes).parts);
    stream_.expect_symbol(")");
    if (target.parts.empty()) fail_at(target.at, "nothing can be set to such a value");
    return target;
  }
  const std::string name = stream_.expect_name();
  for (const char* reserved : {"true", "false", "none", "True", "False", "None"}) {
    if (name == reserved) fail_at(target.at, fmt::format("'{}' is a constant and cannot be set", name));
  }
  target.symbol = symbols_.of(name);
  if (attributes && stream_.skip_symbol(".")) target.attribute = stream_.expect_name();
  return target;
}

Target ExpressionParser::target(const char* end_name, bool attributes) {
  if (++depth_ > most_syntax_depth) stream_.fail_here("less nesting");
  Target first = one_target(attributes);
  if (stream_.current().is(",")) {
    Target all;
    all.at = first.at;
    all.parts.push_back(std::move(first));
    while (stream_.skip_symbol(",")) {
      const Token& next = stream_.current();
      if (next.is(")") || next.is("=") || (end_name != nullptr && next.is_name(end_name))) break;
      all.parts.push_back(one_target(attributes));
    }
    first = std::move(all);
  }
  --depth_;
  return first;
}

ExpressionPtr ExpressionParser::conditional() {
  if (++depth_ > most_syntax_depth) stream_.fail_here("less nesting");
  ExpressionPtr value = logical_or();
  while (stream_.current().is_name("if")) {
    ExpressionPtr made = make(Kind::conditional, stream_.take().at);
    made->children.push_back(std::move(value));
    made->children.push_back(logical_or());
    made->children.push_back(stream_.skip_name("else") ? conditional() : nullptr);
    value = finish(std::move(made));
  }
  --depth_;
  return value;
}

ExpressionPtr ExpressionParser::logical_or() {
  ExpressionPtr left = logical_and();
  while (stream_.current().is_name("or")) {
    const Position at = stream_.take().at;
    left = node(Kind::logical_or, at, std::move(left), logical_and());
  }
  return left;
}

ExpressionPtr ExpressionParser::logical_and() {
  ExpressionPtr left = logical_not();
  while (stream_.current().is_name("and")) {
    const Position at = stream_.take().at;
    left = node(Kind::logical_and, at, std::move(left), logical_not());
  }
  return left;
}

ExpressionPtr ExpressionParser::logical_not() {
  if (!stream_.current().is_name("not")) return compare();
  if (++depth_ > most_syntax_depth) stream_.fail_here("less nesting");
  const Position at = stream_.take().at;
  ExpressionPtr made = node(Kind::logical_not, at, logical_not());
  --depth_;
  return made;
}

bool ExpressionParser::comparison(Operator& op) {
  static constexpr std::pair<const char*, Operator> symbols[] = {{"==", Operator::equal},  {"!=", Operator::not_equal},
                                                                 {"<", Operator::less},    {"<=", Operator::less_equal},
                                                                 {">", Operator::greater}, {">=", Operator::greater_equal}};
  for (const auto& [symbol, meaning] : symbols) {
    if (!stream_.skip_symbol(symbol)) continue;
    op = meaning;
    return true;
  }
  if (stream_.current().is_name("not") && stream_.ahead().is_name("in")) {
    stream_.take();
    stream_.take();
    op = Operator::not_in;
    return true;
  }
  op = Operator::in;
  return stream_.skip_name("in");
}

ExpressionPtr ExpressionParser::compare() {
  Position at = stream_.current().at;
  ExpressionPtr left = sum();
  Operator op = Operator::equal;
  ExpressionPtr made;
  while (at = stream_.current().at, comparison(op)) {
    if (!made) {
      made = make(Kind::compare, at);
      made->children.push_back(std::move(left));
    }
    made->operators.push_back(op);
    made->children.push_back(sum());
  }
  return made ? finish(std::move(made)) : std::move(left);
}

ExpressionPtr ExpressionParser::binary(Operator op, Position at, ExpressionPtr left, ExpressionPtr right) {
  ExpressionPtr made = node(Kind::binary, at, std::move(left), std::move(right));
  made->operators.push_back(op);
  return made;
}

ExpressionPtr ExpressionParser::sum() {
  ExpressionPtr left = concatenation();
  while (stream_.current().is("+") || stream_.current().is("-")) {
    const Token sign = stream_.take();
    left = binary(sign.value == "+" ? Operator::add : Operator::subtract, sign.at, std::move(left), concatenation());
  }
  return left;
}

ExpressionPtr ExpressionParser::concatenation() {
  ExpressionPtr first = product();
  if (!stream_.current().is("~")) return first;
  ExpressionPtr made = make(Kind::concatenate, stream_.current().at);
  made->children.push_back(std::move(first));
  while (stream_.skip_symbol("~")) made->children.push_back(product());
  return finish(std::move(made));
}

ExpressionPtr ExpressionParser::product() {
  static constexpr std::pair<const char*, Operator> symbols[] = {
      {"*", Operator::multiply}, {"/", Operator::divide}, {"//", Operator::floor_divide}, {"%", Operator::modulo}};
  ExpressionPtr left = power();
  while (true) {
    const auto* found = std::find_if(std::begin(symbols), std::end(symbols), [&](const auto& s) { return stream_.current().is(s.first); });
    if (found == std::end(symbols)) return left;
    const Position at = stream_.take().at;
    left = binary(found->second, at, std::move(left), power());
  }
}

ExpressionPtr ExpressionParser::power() {
  ExpressionPtr left = unary(true);
  while (stream_.current().is("**")) {
    const Position at = stream_.take().at;
    left = binary(Operator::power, at, std::move(left), unary(true));
  }
  return left;
}

ExpressionPtr ExpressionParser::unary(bool with_filter) {
  if (!stream_.current().is("-") && !stream_.current().is("+")) return postfix(primary(), with_filter);
  if (++depth_ > most_syntax_depth) stream_.fail_here("less nesting");
  const Token sign = stream_.take();
  ExpressionPtr made = node(sign.value == "-" ? Kind::negative : Kind::positive, sign.at, unary(false));
  --depth_;
  return postfix(std::move(made), with_filter);
}

}  // namespace skipstone::chat::jinja
