// The parsed template, and the parser that makes it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "chat/jinja/lexer.h"
#include "chat/jinja/value.h"

namespace skipstone::chat::jinja {

enum class Operator : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  in,
  not_in
};

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Argument {
  enum class Kind : std::uint8_t { positional, named, list, dict };  ///< list: "*x"; dict: "**x"
  Kind kind = Kind::positional;
  std::string name;
  ExpressionPtr value;
};

struct Expression {
  enum class Kind : std::uint8_t {
    constant,     ///< constant
    name,         ///< symbol, name
    list,         ///< children
    tuple,        ///< children
    dict,         ///< children: key, value, key, value, ...
    attribute,    ///< children[0].name
    item,         ///< children[0][children[1]]
    slice,        ///< children[0][children[1]:children[2]:children[3]], absent ones null
    call,         ///< children[0](arguments)
    filter,       ///< children[0]|name(arguments); children[0] null: the body of a filter block
    test,         ///< children[0] is name(arguments)
    negative,     ///< -children[0]
    positive,     ///< +children[0]
    logical_not,  ///< not children[0]
    logical_and,
    logical_or,
    binary,       ///< children[0] operators[0] children[1]
    concatenate,  ///< children[0] ~ children[1] ~ ...
    compare,      ///< children[0] operators[0] children[1] operators[1] ...
    conditional,  ///< children[0] if children[1] else children[2], the last possibly null
  };
  Kind kind = Kind::constant;
  int depth = 1;
  Position at;
  std::uint32_t symbol = 0;
  std::string name;
  Value constant;
  std::vector<Operator> operators;
  std::vector<ExpressionPtr> children;
  std::vector<Argument> arguments;
};

/// The target of an assignment: a name, an attribute of a namespace, or several of them.
struct Target {
  Position at;
  std::uint32_t symbol = 0;
  std::string attribute;      ///< of the namespace `symbol`; "" for the name itself
  std::vector<Target> parts;  ///< not empty: a tuple of targets
};

struct Statement;
using Body = std::vector<Statement>;

struct Macro {
  struct Parameter {
    std::uint32_t symbol = 0;
    std::string name;
    ExpressionPtr default_value;  ///< null: none
  };
  std::string name;
  std::uint32_t symbol = 0;
  std::vector<Parameter> parameters;
  bool takes_rest = false, takes_named_rest = false, takes_caller = false;  ///< varargs, kwargs, caller are named in it
  std::unique_ptr<Body> body;
};

struct Statement {
  enum class Kind : std::uint8_t {
    text,          ///< text
    output,        ///< expression
    branch,        ///< branches
    loop,          ///< for target in expression if condition: body, else other
    set,           ///< target = expression
    set_block,     ///< target = body, through the filter `expression` if given
    macro,         ///< macro
    call_block,    ///< expression, a call, with macro as its caller
    filter_block,  ///< expression, a filter, of body
    with,          ///< targets = expressions: body
    scope,         ///< body with variables of its own ("generation")
    break_loop,
    continue_loop,
  };
  struct Branch {
    ExpressionPtr condition;  ///< null: else
    Body body;
  };
  Kind kind = Kind::text;
  Position at;
  std::string text;
  ExpressionPtr expression, condition;
  Target target;
  bool recursive = false;
  std::vector<Branch> branches;
  std::vector<std::pair<Target, ExpressionPtr>> bindings;
  Body body, other;
  std::unique_ptr<Macro> macro;
};

/// Names by number, so that looking one up compares no texts.
class Symbols {
 public:
  std::uint32_t of(const std::string& name);
  const std::string& name(std::uint32_t symbol) const { return names_[symbol]; }

  static constexpr std::uint32_t loop = 0, caller = 1, varargs = 2, kwargs = 3;
  Symbols();

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

struct Program {
  Symbols symbols;
  Body body;
};

/// Throws invalid_argument with line and column for an invalid template.
Program parse(std::string_view source);

}  // namespace skipstone::chat::jinja
