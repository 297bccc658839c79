#include "chat/jinja/expression_parser.h"

#include <algorithm>
#include <charconv>

namespace skipstone::chat::jinja {
namespace {

/// Takes the operator of a comparison, if one is next.
bool take_comparison(TokenStream& stream, Operator& op) {
  static constexpr std::pair<const char*, Operator> symbols[] = {{"==", Operator::equal},  {"!=", Operator::not_equal},
                                                                 {"<", Operator::less},    {"<=", Operator::less_equal},
                                                                 {">", Operator::greater}, {">=", Operator::greater_equal}};
  for (const auto& [symbol, meaning] : symbols) {
    if (!stream.skip_symbol(symbol)) continue;
    op = meaning;
    return true;
  }
  if (stream.current().is_name("not") && stream.ahead().is_name("in")) {
    stream.take();
    stream.take();
    op = Operator::not_in;
    return true;
  }
  op = Operator::in;
  return stream.skip_name("in");
}

}  // namespace

// ---- nodes ----

ExpressionPtr ExpressionNodes::make(Kind kind, Position at) {
  if (++nodes_ > most_nodes) fail_at(at, "the template has more than " + std::to_string(most_nodes) + " parts");
  auto made = std::make_unique<Expression>();
  made->kind = kind;
  made->at = at;
  return made;
}

ExpressionPtr ExpressionNodes::finish(ExpressionPtr made) {
  int deepest = 0;
  for (const ExpressionPtr& child : made->children) deepest = std::max(deepest, child ? child->depth : 0);
  for (const Argument& argument : made->arguments) deepest = std::max(deepest, argument.value->depth);
  made->depth = deepest + 1;
  if (made->depth > most_syntax_depth)
    fail_at(made->at, "the expression nests more than " + std::to_string(most_syntax_depth) + " levels deep");
  return made;
}

ExpressionPtr ExpressionNodes::node(Kind kind, Position at, ExpressionPtr a, ExpressionPtr b) {
  ExpressionPtr made = make(kind, at);
  made->children.push_back(std::move(a));
  if (b) made->children.push_back(std::move(b));
  return finish(std::move(made));
}

ExpressionPtr ExpressionNodes::binary(Operator op, Position at, ExpressionPtr left, ExpressionPtr right) {
  ExpressionPtr made = node(Kind::binary, at, std::move(left), std::move(right));
  made->operators.push_back(op);
  return made;
}

ExpressionPtr ExpressionNodes::number(const Token& token) {
  ExpressionPtr made = make(Kind::constant, token.at);
  const char* first = token.value.data();
  const char* last = first + token.value.size();
  if (token.kind == Token::Kind::real) {
    double value = 0;
    std::from_chars(first, last, value);
    made->constant = value;
    return made;
  }
  std::int64_t value = 0;
  if (std::from_chars(first, last, value).ec == std::errc()) {
    made->constant = value;
  } else {
    made->constant = BigInteger{std::make_shared<const std::string>(token.value)};
  }
  return made;
}

// ---- operators ----

ExpressionPtr ExpressionParser::tuple(bool with_if) {
  const Position at = stream_.current().at;
  const auto part = [&] { return with_if ? conditional() : logical_or(); };
  const auto ends = [&] {
    const Token& t = stream_.current();
    return t.kind == Token::Kind::block_end || t.kind == Token::Kind::output_end || t.is(")") || (!with_if && t.is_name("recursive"));
  };
  ExpressionPtr first = part();
  if (!stream_.current().is(",")) return first;
  ExpressionPtr made = nodes_.make(Kind::tuple, at);
  made->children.push_back(std::move(first));
  while (stream_.skip_symbol(",") && !ends()) made->children.push_back(part());
  return ExpressionNodes::finish(std::move(made));
}

ExpressionPtr ExpressionParser::parenthesized() {
  const Position at = stream_.current().at;
  stream_.expect_symbol("(");
  if (stream_.skip_symbol(")")) return nodes_.make(Kind::tuple, at);
  ExpressionPtr inner = tuple();
  stream_.expect_symbol(")");
  return inner;
}

ExpressionPtr ExpressionParser::conditional() {
  if (++depth_ > most_syntax_depth) stream_.fail_here("less nesting");
  ExpressionPtr value = logical_or();
  while (stream_.current().is_name("if")) {
    ExpressionPtr made = nodes_.make(Kind::conditional, stream_.take().at);
    made->children.push_back(std::move(value));
    made->children.push_back(logical_or());
    made->children.push_back(stream_.skip_name("else") ? conditional() : nullptr);
    value = ExpressionNodes::finish(std::move(made));
  }
  --depth_;
  return value;
}

ExpressionPtr ExpressionParser::logical_or() {
  ExpressionPtr left = logical_and();
  while (stream_.current().is_name("or")) {
    const Position at = stream_.take().at;
    left = nodes_.node(Kind::logical_or, at, std::move(left), logical_and());
  }
  return left;
}

ExpressionPtr ExpressionParser::logical_and() {
  ExpressionPtr left = logical_not();
  while (stream_.current().is_name("and")) {
    const Position at = stream_.take().at;
    left = nodes_.node(Kind::logical_and, at, std::move(left), logical_not());
  }
  return left;
}

ExpressionPtr ExpressionParser::logical_not() {
  if (!stream_.current().is_name("not")) return compare();
  if (++depth_ > most_syntax_depth) stream_.fail_here("less nesting");
  const Position at = stream_.take().at;
  ExpressionPtr made = nodes_.node(Kind::logical_not, at, logical_not());
  --depth_;
  return made;
}

ExpressionPtr ExpressionParser::compare() {
  Position at = stream_.current().at;
  ExpressionPtr left = sum();
  Operator op = Operator::equal;
  ExpressionPtr made;
  while (at = stream_.current().at, take_comparison(stream_, op)) {
    if (!made) {
      made = nodes_.make(Kind::compare, at);
      made->children.push_back(std::move(left));
    }
    made->operators.push_back(op);
    made->children.push_back(sum());
  }
  return made ? ExpressionNodes::finish(std::move(made)) : std::move(left);
}

ExpressionPtr ExpressionParser::sum() {
  ExpressionPtr left = concatenation();
  while (stream_.current().is("+") || stream_.current().is("-")) {
    const Token sign = stream_.take();
    left = nodes_.binary(sign.value == "+" ? Operator::add : Operator::subtract, sign.at, std::move(left), concatenation());
  }
  return left;
}

ExpressionPtr ExpressionParser::concatenation() {
  ExpressionPtr first = product();
  if (!stream_.current().is("~")) return first;
  ExpressionPtr made = nodes_.make(Kind::concatenate, stream_.current().at);
  made->children.push_back(std::move(first));
  while (stream_.skip_symbol("~")) made->children.push_back(product());
  return ExpressionNodes::finish(std::move(made));
}

ExpressionPtr ExpressionParser::product() {
  static constexpr std::pair<const char*, Operator> symbols[] = {
      {"*", Operator::multiply}, {"/", Operator::divide}, {"//", Operator::floor_divide}, {"%", Operator::modulo}};
  ExpressionPtr left = power();
  while (true) {
    const auto* found = std::find_if(std::begin(symbols), std::end(symbols), [&](const auto& s) { return stream_.current().is(s.first); });
    if (found == std::end(symbols)) return left;
    const Position at = stream_.take().at;
    left = nodes_.binary(found->second, at, std::move(left), power());
  }
}

ExpressionPtr ExpressionParser::power() {
  ExpressionPtr left = unary(true);
  while (stream_.current().is("**")) {
    const Position at = stream_.take().at;
    left = nodes_.binary(Operator::power, at, std::move(left), unary(true));
  }
  return left;
}

ExpressionPtr ExpressionParser::unary(bool with_filter) {
  if (!stream_.current().is("-") && !stream_.current().is("+")) return postfix(primary(), with_filter);
  if (++depth_ > most_syntax_depth) stream_.fail_here("less nesting");
  const Token sign = stream_.take();
  ExpressionPtr made = nodes_.node(sign.value == "-" ? Kind::negative : Kind::positive, sign.at, unary(false));
  --depth_;
  return postfix(std::move(made), with_filter);
}

}  // namespace skipstone::chat::jinja
