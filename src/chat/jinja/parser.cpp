// Statements.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/escape.h"
#include "base/status.h"
#include "chat/jinja/expression_parser.h"
#include "chat/jinja/syntax.h"

namespace skipstone::chat::jinja {

Symbols::Symbols() {
  for (const char* name : {"loop", "caller", "varargs", "kwargs"}) of(name);
}

std::uint32_t Symbols::of(const std::string& name) {
  const auto [entry, added] = numbers_.emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (added) {
    // Variables are looked up linearly; no known template has a tenth of this limit.
    if (names_.size() >= most_names) fail(Code::invalid_argument, "the template has more than {} names", most_names);
    names_.push_back(name);
  }
  return entry->second;
}

namespace {

using Ends = std::initializer_list<const char*>;

/// Targets of assignments: names, in some places attributes of namespaces, and tuples of them.
class TargetParser {
 public:
  TargetParser(TokenStream& stream, Symbols& symbols) : stream_(stream), symbols_(symbols) {}

  /// Up to the name `end_name`, if it is not null. `attributes`: whether an attribute can be set.
  Target parse(const char* end_name, bool attributes) {
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

 private:
  Target one_target(bool attributes) {
    Target target;
    target.at = stream_.current().at;
    if (stream_.skip_symbol("(")) {
      target.parts = std::move(parse(nullptr, attributes).parts);
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

  TokenStream& stream_;
  Symbols& symbols_;
  int depth_ = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view source)
      : stream_(tokens_of(source)), expressions_(stream_, program_.symbols), targets_(stream_, program_.symbols) {}

  Program run() {
    program_.body = body({});
    return std::move(program_);
  }

 private:
  /// Parses up to a tag that is one of `ends`, which is left with its name next; up to the end of the template where there are none.
  Body body(Ends ends) {
    if (++depth_ > most_syntax_depth / 2) stream_.fail_here("less nesting");
    const Position begin = stream_.current().at;
    Body statements;
    while (true) {
      const Token& token = stream_.current();
      if (token.kind == Token::Kind::end) {
        if (ends.size() > 0) fail_at(begin, fmt::format("'{}' is missing for the block that begins before this", *(ends.end() - 1)));
        break;
      }
      if (token.kind == Token::Kind::text) {
        statements.push_back(make(Statement::Kind::text));
        statements.back().text = stream_.take().value;
      } else if (token.kind == Token::Kind::output_begin) {
        stream_.take();
        statements.push_back(make(Statement::Kind::output));
        statements.back().expression = expressions_.tuple();
        stream_.expect(Token::Kind::output_end);
      } else {
        stream_.take();
        const bool ended = std::any_of(ends.begin(), ends.end(), [&](const char* end) { return stream_.current().is_name(end); });
        if (ended) break;
        statements.push_back(tag());
      }
    }
    --depth_;
    return statements;
  }

  Statement make(Statement::Kind kind) const {
    Statement statement;
    statement.kind = kind;
    statement.at = stream_.current().at;
    return statement;
  }

  void end_tag() { stream_.expect(Token::Kind::block_end); }

  Body body_until(const char* end) {
    Body statements = body({end});
    stream_.take();
    end_tag();
    return statements;
  }

  Statement tag() {
    using Parse = Statement (Parser::*)();
    static constexpr std::array<std::pair<const char*, Parse>, 11> tags = {{{"if", &Parser::branch},
                                                                            {"for", &Parser::loop},
                                                                            {"set", &Parser::set},
                                                                            {"macro", &Parser::macro},
                                                                            {"call", &Parser::call_block},
                                                                            {"filter", &Parser::filter_block},
                                                                            {"with", &Parser::with},
                                                                            {"generation", &Parser::generation},
                                                                            {"break", &Parser::leave},
                                                                            {"continue", &Parser::leave},
                                                                            {"do", nullptr}}};
    const Token& name = stream_.current();
    for (const auto& [known, parse] : tags) {
      if (parse != nullptr && name.is_name(known)) return (this->*parse)();
    }
    if (name.kind != Token::Kind::name) stream_.fail_here("the name of a tag");
    fail_at(name.at, fmt::format("there is no tag '{}' in chat templates", shortened(name.value, 40)));
  }

  Statement branch() {
    Statement statement = make(Statement::Kind::branch);
    do {
      stream_.take();
      ExpressionPtr condition = expressions_.tuple(false);
      end_tag();
      Body inner = body({"elif", "else", "endif"});
      statement.branches.push_back({std::move(condition), std::move(inner)});
    } while (stream_.current().is_name("elif"));
    if (stream_.take().value == "else") {
      end_tag();
      statement.branches.push_back({nullptr, body({"endif"})});
      stream_.take();
    }
    end_tag();
    return statement;
  }

  Statement loop() {
    Statement statement = make(Statement::Kind::loop);
    stream_.take();
    statement.target = targets_.parse("in", false);
    if (!stream_.skip_name("in")) stream_.fail_here("'in'");
    statement.expression = expressions_.tuple(false);
    if (stream_.skip_name("if")) statement.condition = expressions_.parse();
    statement.recursive = stream_.skip_name("recursive");
    end_tag();
    ++loops_;
    statement.body = body({"else", "endfor"});
    --loops_;
    if (stream_.take().value == "else") {
      end_tag();
      statement.other = body({"endfor"});
      stream_.take();
    }
    end_tag();
    return statement;
  }

  Statement leave() {
    Statement statement = make(stream_.current().is_name("break") ? Statement::Kind::break_loop : Statement::Kind::continue_loop);
    if (loops_ == 0) fail_at(statement.at, fmt::format("'{}' is outside of a loop", stream_.current().value));
    stream_.take();
    end_tag();
    return statement;
  }

  Statement set() {
    Statement statement = make(Statement::Kind::set);
    stream_.take();
    statement.target = targets_.parse(nullptr, true);
    if (stream_.skip_symbol("=")) {
      statement.expression = expressions_.tuple();
      end_tag();
      return statement;
    }
    statement.kind = Statement::Kind::set_block;
    statement.expression = expressions_.filters(nullptr, false);
    end_tag();
    statement.body = body_until("endset");
    return statement;
  }

  void signature(Macro& macro) {
    stream_.expect_symbol("(");
    bool optional = false;
    while (!stream_.current().is(")")) {
      if (!macro.parameters.empty()) stream_.expect_symbol(",");
      if (stream_.current().is(")")) break;
      Macro::Parameter parameter;
      parameter.name = stream_.expect_name();
      parameter.symbol = program_.symbols.of(parameter.name);
      if (stream_.skip_symbol("=")) {
        parameter.default_value = expressions_.parse();
        optional = true;
      } else if (optional) {
        stream_.fail_here("a default value, as the parameter before has one,");
      }
      macro.parameters.push_back(std::move(parameter));
    }
    stream_.expect_symbol(")");
  }

  void macro_body(Macro& macro, const char* end) {
    expressions_.open_macros().push_back(&macro);
    const int loops = std::exchange(loops_, 0);
    macro.body = std::make_unique<Body>(body_until(end));
    loops_ = loops;
    expressions_.open_macros().pop_back();
  }

  Statement macro() {
    Statement statement = make(Statement::Kind::macro);
    stream_.take();
    statement.macro = std::make_unique<Macro>();
    statement.macro->name = stream_.expect_name();
    statement.macro->symbol = program_.symbols.of(statement.macro->name);
    signature(*statement.macro);
    end_tag();
    macro_body(*statement.macro, "endmacro");
    return statement;
  }

  Statement call_block() {
    Statement statement = make(Statement::Kind::call_block);
    stream_.take();
    statement.macro = std::make_unique<Macro>();
    statement.macro->name = "caller";
    if (stream_.current().is("(")) signature(*statement.macro);
    statement.expression = expressions_.parse();
    if (statement.expression->kind != Expression::Kind::call) fail_at(statement.at, "a call was expected after 'call'");
    end_tag();
    macro_body(*statement.macro, "endcall");
    return statement;
  }

  Statement filter_block() {
    Statement statement = make(Statement::Kind::filter_block);
    stream_.take();
    statement.expression = expressions_.filters(nullptr, true);
    end_tag();
    statement.body = body_until("endfilter");
    return statement;
  }

  Statement with() {
    Statement statement = make(Statement::Kind::with);
    stream_.take();
    while (stream_.current().kind != Token::Kind::block_end) {
      if (!statement.bindings.empty()) stream_.expect_symbol(",");
      Target target = targets_.parse(nullptr, false);
      stream_.expect_symbol("=");
      statement.bindings.emplace_back(std::move(target), expressions_.parse());
    }
    end_tag();
    statement.body = body_until("endwith");
    return statement;
  }

  /// transformers' mark for training on answers; a renderer only gives its body variables of its own.
  Statement generation() {
    Statement statement = make(Statement::Kind::scope);
    stream_.take();
    end_tag();
    const int loops = std::exchange(loops_, 0);
    statement.body = body_until("endgeneration");
    loops_ = loops;
    return statement;
  }

  Program program_;
  TokenStream stream_;
  ExpressionParser expressions_;
  TargetParser targets_;
  int depth_ = 0, loops_ = 0;
};

}  // namespace

Program parse(std::string_view source) { return Parser(source).run(); }

}  // namespace skipstone::chat::jinja
