// The operands of operators: literals, names, and the attributes, calls, filters and tests that follow them.
#include "chat/jinja/expression_parser.h"

namespace skipstone::chat::jinja {

ExpressionPtr ExpressionParser::primary() {
  const Token::Kind kind = stream_.current().kind;
  if (kind == Token::Kind::name) return name(stream_.take());
  if (kind == Token::Kind::integer || kind == Token::Kind::real) return nodes_.number(stream_.take());
  if (kind == Token::Kind::string) {
    ExpressionPtr made = nodes_.make(Kind::constant, stream_.current().at);
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
  ExpressionPtr made = nodes_.make(Kind::constant, token.at);
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

ExpressionPtr ExpressionParser::list() {
  ExpressionPtr made = nodes_.make(Kind::list, stream_.take().at);
  while (!stream_.current().is("]")) {
    if (!made->children.empty()) stream_.expect_symbol(",");
    if (stream_.current().is("]")) break;
    made->children.push_back(conditional());
  }
  stream_.expect_symbol("]");
  return ExpressionNodes::finish(std::move(made));
}

ExpressionPtr ExpressionParser::dict() {
  ExpressionPtr made = nodes_.make(Kind::dict, stream_.take().at);
  while (!stream_.current().is("}")) {
    if (!made->children.empty()) stream_.expect_symbol(",");
    if (stream_.current().is("}")) break;
    made->children.push_back(conditional());
    stream_.expect_symbol(":");
    made->children.push_back(conditional());
  }
  stream_.expect_symbol("}");
  return ExpressionNodes::finish(std::move(made));
}

ExpressionPtr ExpressionParser::attribute(ExpressionPtr object) {
  const Position at = stream_.take().at;
  if (stream_.current().kind == Token::Kind::integer) return nodes_.node(Kind::item, at, std::move(object), nodes_.number(stream_.take()));
  const std::string name = stream_.expect_name();
  ExpressionPtr made = nodes_.node(Kind::attribute, at, std::move(object));
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
    ExpressionPtr several = nodes_.make(Kind::tuple, at);
    several->children.push_back(std::move(parts[0]));
    while (stream_.skip_symbol(",")) several->children.push_back(conditional());
    parts[0] = ExpressionNodes::finish(std::move(several));
  }
  stream_.expect_symbol("]");
  if (colons == 0) return nodes_.node(Kind::item, at, std::move(object), std::move(parts[0]));
  ExpressionPtr made = nodes_.make(Kind::slice, at);
  made->children.push_back(std::move(object));
  for (ExpressionPtr& part : parts) made->children.push_back(std::move(part));
  return ExpressionNodes::finish(std::move(made));
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
    ExpressionPtr made = nodes_.make(Kind::filter, stream_.current().at);
    made->name = stream_.expect_name();
    while (stream_.skip_symbol(".")) made->name += "." + stream_.expect_name();
    made->children.push_back(std::move(input));
    if (stream_.current().is("(")) made->arguments = call_arguments();
    input = ExpressionNodes::finish(std::move(made));
  }
  return input;
}

ExpressionPtr ExpressionParser::test(ExpressionPtr input) {
  const Position at = stream_.take().at;
  const bool negated = stream_.skip_name("not");
  ExpressionPtr made = nodes_.make(Kind::test, at);
  made->name = stream_.expect_name();
  made->children.push_back(std::move(input));
  const Token& next = stream_.current();
  if (next.is("(")) {
    made->arguments = call_arguments();
  } else if (next.is_name("is")) {
    fail_at(next.at, "tests with 'is' cannot be chained");
  } else if ((next.kind == Token::Kind::name && !next.is_name("else") && !next.is_name("or") && !next.is_name("and")) ||
             next.kind == Token::Kind::string || next.kind == Token::Kind::integer || next.kind == Token::Kind::real || next.is("[") ||
             next.is("{")) {
    Argument argument;
    argument.value = postfix(primary(), false);
    made->arguments.push_back(std::move(argument));
  }
  ExpressionPtr done = ExpressionNodes::finish(std::move(made));
  return negated ? nodes_.node(Kind::logical_not, at, std::move(done)) : std::move(done);
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr made, bool with_filter) {
  while (true) {
    const Token& next = stream_.current();
    if (next.is(".")) {
      made = attribute(std::move(made));
    } else if (next.is("[")) {
      made = subscript(std::move(made));
    } else if (next.is("(")) {
      ExpressionPtr call = nodes_.make(Kind::call, next.at);
      call->children.push_back(std::move(made));
      call->arguments = call_arguments();
      made = ExpressionNodes::finish(std::move(call));
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
      ExpressionPtr call = nodes_.make(Kind::call, next.at);
      call->children.push_back(std::move(made));
      call->arguments = call_arguments();
      made = ExpressionNodes::finish(std::move(call));
    } else {
      break;
    }
  }
  return made;
}

}  // namespace skipstone::chat::jinja
