#include "chat/jinja/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/escape.h"
#include "base/status.h"

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
  if (current().kind != kind) fail_here(kind == Token::Kind::block_end || kind == Token::Kind::output_end ? "the end of the tag" : "a name");
  take();
}

std::string TokenStream::expect_name() {
  if (current().kind != Token::Kind::name) fail_here("a name");
  return take().value;
}

void TokenStream::fail_here(const std::string& wanted) const { fail_at(current().at, wanted + " was expected, and " + shown(current()) + " stands here"); }

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
  if (made->depth > most_syntax_depth) fail_at(made->at, "the expression nests more than " + std::to_string(most_syntax_depth) + " levels deep");
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
  static constexpr std::pair<const char*, Operator> symbols[] = {{"==", Operator::equal},   {"!=", Operator::not_equal},
                                                                 {"<", Operator::less},     {"<=", Operator::less_equal},
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

ExpressionPtr ExpressionParser::primary() {
  const Token::Kind kind = stream_.current().kind;
  if (kind == Token::Kind::name) return name(stream_.take());
  if (kind == Token::Kind::integer || kind == Token::Kind::real) return number(stream_.take());
  if (kind == Token::Kind::string) {
    ExpressionPtr made = make(Kind::constant, stream_.current().at);
    std::string value;
    while (stream_.current().kind == Token::Kind::string) value += stream_.take().value;
    made->constant = make_string(nullptr, std::move(value), Origin::template_text);
    return made;
  }
  if (stream_.current().is("(")) return parenthesized();
  if (stream_.current().is("[")) return list();
  if (stream_.current().is("{")) return dict();
  stream_.fail_here("a value");
}

ExpressionPtr ExpressionParser::name(const Token& token) {
  ExpressionPtr made = make(Kind::constant, token.at);
  if (token.value == "true" || token.value == "True") {
    made->constant = true;
  } else if (token.value == "false" || token.value == "False") {
    made->constant = false;
  } else if (token.value == "none" || token.value == "None") {
    made->constant = None{};
  } else {
    made->kind = Kind::name;
    made->name = token.value;
    made->symbol = symbols_.of(token.value);
    for (Macro* macro : open_macros_) {
      macro->takes_rest |= made->symbol == Symbols::varargs;
      macro->takes_named_rest |= made->symbol == Symbols::kwargs;
      macro->takes_caller |= made->symbol == Symbols::caller;
    }
  }
  return made;
}

ExpressionPtr ExpressionParser::number(const Token& token) {
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

ExpressionPtr ExpressionParser::list() {
  ExpressionPtr made = make(Kind::list, stream_.take().at);
  while (!stream_.current().is("]")) {
    if (!made->children.empty()) stream_.expect_symbol(",");
    if (stream_.current().is("]")) break;
    made->children.push_back(conditional());
  }
  stream_.expect_symbol("]");
  return finish(std::move(made));
}

ExpressionPtr ExpressionParser::dict() {
  ExpressionPtr made = make(Kind::dict, stream_.take().at);
  while (!stream_.current().is("}")) {
    if (!made->children.empty()) stream_.expect_symbol(",");
    if (stream_.current().is("}")) break;
    made->children.push_back(conditional());
    stream_.expect_symbol(":");
    made->children.push_back(conditional());
  }
  stream_.expect_symbol("}");
  return finish(std::move(made));
}

ExpressionPtr ExpressionParser::attribute(ExpressionPtr object) {
  const Position at = stream_.take().at;
  if (stream_.current().kind == Token::Kind::integer) return node(Kind::item, at, std::move(object), number(stream_.take()));
  const std::string name = stream_.expect_name();
  ExpressionPtr made = node(Kind::attribute, at, std::move(object));
  made->name = name;
  return made;
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr object) {
  const Position at = stream_.take().at;
  ExpressionPtr parts[3];
  std::size_t colons = 0;
  if (!stream_.current().is(":")) parts[0] = conditional();
  while (colons < 2 && stream_.skip_symbol(":")) {
    ++colons;
    if (!stream_.current().is(":") && !stream_.current().is("]")) parts[colons] = conditional();
  }
  if (colons == 0 && stream_.current().is(",")) {
    ExpressionPtr several = make(Kind::tuple, at);
    several->children.push_back(std::move(parts[0]));
    while (stream_.skip_symbol(",")) several->children.push_back(conditional());
    parts[0] = finish(std::move(several));
  }
  stream_.expect_symbol("]");
  if (colons == 0) return node(Kind::item, at, std::move(object), std::move(parts[0]));
  ExpressionPtr made = make(Kind::slice, at);
  made->children.push_back(std::move(object));
  for (ExpressionPtr& part : parts) made->children.push_back(std::move(part));
  return finish(std::move(made));
}

std::vector<Argument> ExpressionParser::call_arguments() {
  std::vector<Argument> arguments;
  bool named = false;
  stream_.expect_symbol("(");
  while (!stream_.current().is(")")) {
    if (!arguments.empty()) stream_.expect_symbol(",");
    if (stream_.current().is(")")) break;
    Argument argument;
    if (stream_.skip_symbol("*")) {
      argument.kind = Argument::Kind::list;
    } else if (stream_.skip_symbol("**")) {
      argument.kind = Argument::Kind::dict;
    } else if (stream_.current().kind == Token::Kind::name && stream_.ahead().is("=")) {
      argument.kind = Argument::Kind::named;
      argument.name = stream_.take().value;
      stream_.take();
      named = true;
    } else if (named) {
      stream_.fail_here("a named argument");
    }
    argument.value = conditional();
    arguments.push_back(std::move(argument));
  }
  stream_.expect_symbol(")");
  return arguments;
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr input, bool inline_first) {
  for (bool now = inline_first; now || stream_.current().is("|"); now = false) {
    if (!now) stream_.take();
    ExpressionPtr made = make(Kind::filter, stream_.current().at);
    made->name = stream_.expect_name();
    while (stream_.skip_symbol(".")) made->name += "." + stream_.expect_name();
    made->children.push_back(std::move(input));
    if (stream_.current().is("(")) made->arguments = call_arguments();
    input = finish(std::move(made));
  }
  return input;
}

ExpressionPtr ExpressionParser::test(ExpressionPtr input) {
  const Position at = stream_.take().at;
  const bool negated = stream_.skip_name("not");
  ExpressionPtr made = make(Kind::test, at);
  made->name = stream_.expect_name();
  made->children.push_back(std::move(input));
  const Token& next = stream_.current();
  if (next.is("(")) {
    made->arguments = call_arguments();
  } else if (next.is_name("is")) {
    fail_at(next.at, "tests with 'is' cannot be chained");
  } else if ((next.kind == Token::Kind::name && !next.is_name("else") && !next.is_name("or") && !next.is_name("and") ) ||
             next.kind == Token::Kind::string || next.kind == Token::Kind::integer || next.kind == Token::Kind::real || next.is("[") || next.is("{")) {
    Argument argument;
    argument.value = postfix(primary(), false);
    made->arguments.push_back(std::move(argument));
  }
  ExpressionPtr done = finish(std::move(made));
  return negated ? node(Kind::logical_not, at, std::move(done)) : std::move(done);
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr made, bool with_filter) {
  while (true) {
    const Token& next = stream_.current();
    if (next.is(".")) {
      made = attribute(std::move(made));
    } else if (next.is("[")) {
      made = subscript(std::move(made));
    } else if (next.is("(")) {
      ExpressionPtr call = make(Kind::call, next.at);
      call->children.push_back(std::move(made));
      call->arguments = call_arguments();
      made = finish(std::move(call));
    } else {
      break;
    }
  }
  while (with_filter) {
    const Token& next = stream_.current();
    if (next.is("|")) {
      made = filters(std::move(made), false);
    } else if (next.is_name("is")) {
      made = test(std::move(made));
    } else if (next.is("(")) {
      ExpressionPtr call = make(Kind::call, next.at);
      call->children.push_back(std::move(made));
      call->arguments = call_arguments();
      made = finish(std::move(call));
    } else {
      break;
    }
  }
  return made;
}

}  // namespace skipstone::chat::jinja
