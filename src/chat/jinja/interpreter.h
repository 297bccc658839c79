// Walks a program: one interpreter a rendering.
#pragma once

#include <ctime>
#include <memory>
#include <vector>

#include "chat/jinja/arguments.h"
#include "chat/jinja/scope.h"
#include "chat/jinja/syntax.h"

namespace skipstone::chat::jinja {

/// A body's output: that of the template, or the text of a block while it is being written.
class Writing {
 public:
  explicit Writing(Guard& guard) : charge_(&guard, 0) {}

  void append(const Text& text) {
    charge_.grow(text.memory());
    text_.append(text);
  }
  void append(std::string_view bytes, Origin origin) {
    charge_.grow(bytes.size());
    text_.append(bytes, origin);
  }
  Text take() { return std::move(text_); }

 private:
  Text text_;
  Charge charge_;
};

class Interpreter {
 public:
  Interpreter(const Program& program, const Dict& variables, const std::tm& now, const Limits& limits);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// Throws invalid_argument with line and column.
  Text render();

 private:
  using ScopePtr = std::shared_ptr<Scope>;
  enum class Flow { next, break_loop, continue_loop };

  // statements.cpp
  Flow run(const Body& body, const ScopePtr& scope, Writing& out);
  Flow run(const Statement& statement, const ScopePtr& scope, Writing& out);
  Flow branch(const Statement& statement, const ScopePtr& scope, Writing& out);
  Flow loop(const Statement& statement, const ScopePtr& scope, Writing& out);
  Flow loop_over(const Statement& statement, SequenceRef items, int depth, const ScopePtr& scope, Writing& out);
  SequenceRef filtered(const Statement& statement, const SequenceRef& items, const ScopePtr& scope);
  void set_block(const Statement& statement, const ScopePtr& scope);
  void filter_block(const Statement& statement, const ScopePtr& scope, Writing& out);
  void call_block(const Statement& statement, const ScopePtr& scope, Writing& out);
  void with(const Statement& statement, const ScopePtr& scope, Writing& out);
  void assign(const Target& target, const Value& value, const ScopePtr& scope);
  Value define(const Macro& macro, const ScopePtr& scope);

  // expressions.cpp
  Value evaluate(const Expression& expression, const ScopePtr& scope);
  Value operation(const Expression& expression, const ScopePtr& scope);
  Value name(const Expression& expression, const Scope& scope);
  Value listing(const Expression& expression, const ScopePtr& scope);
  Value compare_all(const Expression& expression, const ScopePtr& scope);
  Value concatenated(const Expression& expression, const ScopePtr& scope);
  Value filter(const Expression& expression, const Value& input, const ScopePtr& scope);
  Value slice_of(const Expression& expression, const ScopePtr& scope);
  Arguments arguments(const std::vector<Argument>& given, const ScopePtr& scope);

  // calls.cpp
  Value call(const Value& callee, Arguments arguments);
  Value call_macro(const Callable& callable, Arguments arguments);
  void bind_parameters(const Macro& macro, Arguments& arguments, const ScopePtr& scope);
  Value call_function(const std::string& name, const Arguments& arguments);
  Value make_namespace(const Arguments& arguments);
  Value make_dict(const Arguments& arguments);
  Value range(const Arguments& arguments);
  Value call_loop(const Callable& callable, const Arguments& arguments);
  static const Value* global(const std::string& name);

  const Program& program_;
  const Dict& variables_;
  std::tm now_;
  Guard guard_;
  Position at_;  ///< position of the node that is being evaluated
  // Scopes that macros were defined in, and namespaces, can contain themselves: they are emptied at the end.
  std::vector<std::weak_ptr<Scope>> captured_;
  std::vector<std::weak_ptr<Namespace>> namespaces_;
};

/// As C's strftime(), with English names. Throws invalid_argument for unknown conversions.
std::string formatted_time(std::string_view format, const std::tm& time);

}  // namespace skipstone::chat::jinja
