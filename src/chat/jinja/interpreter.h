// Walks a program: one interpreter a rendering.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja/builtins.h"
#include "chat/jinja/syntax.h"

namespace skipstone::chat::jinja {

/// Variables by scope: loops, macros and blocks have their own, an `if` has not.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<std::uint32_t, Value>> variables;

  explicit Scope(std::shared_ptr<Scope> outer) : parent(std::move(outer)) {}

  /// The value in this scope or the ones around it; null where it is in none.
  const Value* find(std::uint32_t symbol) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent.get()) {
      for (const auto& [known, value] : scope->variables) {
        if (known == symbol) return &value;
      }
    }
    return nullptr;
  }

  void set(std::uint32_t symbol, Value value) {
    for (auto& [known, old] : variables) {
      if (known != symbol) continue;
      old = std::move(value);
      return;
    }
    variables.emplace_back(symbol, std::move(value));
  }
};

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

/// The functions of templates: namespace, range, dict, raise_exception, strftime_now.
class Functions {
 public:
  Functions(Guard& guard, const std::tm& now) : guard_(guard), now_(now) {}
  /// Empties the namespaces, which can contain themselves.
  ~Functions();
  Functions(const Functions&) = delete;
  Functions& operator=(const Functions&) = delete;

  /// The function of that name as a value; null if there is none.
  static const Value* find(const std::string& name);
  /// Calls one that find() knows.
  Value call(const std::string& name, const Arguments& arguments);

 private:
  Value make_namespace(const Arguments& arguments);
  Value make_dict(const Arguments& arguments);
  Value range(const Arguments& arguments);

  Guard& guard_;
  std::tm now_;
  std::vector<std::weak_ptr<Namespace>> namespaces_;
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

  const Program& program_;
  const Dict& variables_;
  Guard guard_;
  Functions functions_;
  Position at_;  ///< position of the node that is being evaluated
  /// Scopes that macros were defined in; they can contain themselves, and are emptied at the end.
  std::vector<std::weak_ptr<Scope>> captured_;
};

/// As C's strftime(), with English names. Throws invalid_argument for unknown conversions.
std::string formatted_time(std::string_view format, const std::tm& time);

}  // namespace skipstone::chat::jinja
