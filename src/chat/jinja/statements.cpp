#include "base/escape.h"
#include "base/status.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/operators.h"

namespace skipstone::chat::jinja {

Interpreter::Interpreter(const Program& program, const Dict& variables, const std::tm& now, const Limits& limits)
    : program_(program), variables_(variables), guard_(limits), functions_(guard_, now) {}

Interpreter::~Interpreter() {
  for (const auto& known : captured_) {
    if (const ScopePtr scope = known.lock()) std::exchange(scope->variables, {});
  }
}

Text Interpreter::render() {
  try {
    Writing out(guard_);
    run(program_.body, std::make_shared<Scope>(nullptr), out);
    return out.take();
  } catch (const Error& error) {
    if (error.code() == Code::cancelled) throw;  // not the template's error
    fail(error.code(), "line {}, column {}: {}", at_.line, at_.column, error.what());
  }
}

Interpreter::Flow Interpreter::run(const Body& body, const ScopePtr& scope, Writing& out) {
  for (const Statement& statement : body) {
    guard_.step();
    const Flow flow = run(statement, scope, out);
    if (flow != Flow::next) return flow;
  }
  return Flow::next;
}

Interpreter::Flow Interpreter::run(const Statement& statement, const ScopePtr& scope, Writing& out) {
  using Kind = Statement::Kind;
  const Guard::Level level(guard_);
  at_ = statement.at;
  switch (statement.kind) {
    case Kind::text:
      out.append(statement.text, Origin::template_text);
      break;
    case Kind::output:
      out.append(printed(guard_, evaluate(*statement.expression, scope)));
      break;
    case Kind::branch:
      return branch(statement, scope, out);
    case Kind::loop:
      return loop(statement, scope, out);
    case Kind::set:
      assign(statement.target, evaluate(*statement.expression, scope), scope);
      break;
    case Kind::set_block:
      set_block(statement, scope);
      break;
    case Kind::macro:
      scope->set(statement.macro->symbol, define(*statement.macro, scope));
      break;
    case Kind::call_block:
      call_block(statement, scope, out);
      break;
    case Kind::filter_block:
      filter_block(statement, scope, out);
      break;
    case Kind::with:
      with(statement, scope, out);
      break;
    case Kind::scope:
      run(statement.body, std::make_shared<Scope>(scope), out);
      break;
    case Kind::break_loop:
      return Flow::break_loop;
    case Kind::continue_loop:
      return Flow::continue_loop;
  }
  return Flow::next;
}

Interpreter::Flow Interpreter::branch(const Statement& statement, const ScopePtr& scope, Writing& out) {
  for (const Statement::Branch& branch : statement.branches) {
    if (!branch.condition || truth(evaluate(*branch.condition, scope))) return run(branch.body, scope, out);
  }
  return Flow::next;
}

SequenceRef Interpreter::filtered(const Statement& statement, const SequenceRef& items, const ScopePtr& scope) {
  std::vector<Value> kept;
  const auto inner = std::make_shared<Scope>(scope);
  for (const Value& item : items->items) {
    guard_.step();
    inner->variables.clear();
    assign(statement.target, item, inner);
    if (truth(evaluate(*statement.condition, inner))) kept.push_back(item);
  }
  return std::make_shared<const Sequence>(Sequence::Kind::list, std::move(kept), &guard_);
}

Interpreter::Flow Interpreter::loop(const Statement& statement, const ScopePtr& scope, Writing& out) {
  const Value over = evaluate(*statement.expression, scope);
  if (statement.recursive) fail(Code::unsupported, "recursive loops are not known here");
  return loop_over(statement, items_of(guard_, over), 0, scope, out);
}

Interpreter::Flow Interpreter::loop_over(const Statement& statement, SequenceRef items, int depth, const ScopePtr& scope, Writing& out) {
  if (statement.condition) items = filtered(statement, items, scope);
  const auto state = std::make_shared<Loop>();
  state->items = items;
  state->depth = depth;
  ScopePtr inner;
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    guard_.step();
    if (!inner || inner.use_count() > 1) {  // a macro may have kept the last one
      inner = std::make_shared<Scope>(scope);
    } else {
      inner->variables.clear();
    }
    state->index = i;
    inner->variables.emplace_back(Symbols::loop, Value(state));
    at_ = statement.at;
    assign(statement.target, items->items[i], inner);
    if (run(statement.body, inner, out) == Flow::break_loop) break;
  }
  if (items->items.empty()) return run(statement.other, std::make_shared<Scope>(scope), out);
  return Flow::next;
}

void Interpreter::assign(const Target& target, const Value& value, const ScopePtr& scope) {
  if (!target.parts.empty()) {
    if (!is_iterable(value)) fail(Code::invalid_argument, "cannot unpack non-iterable {} object", type_name(value));
    const SequenceRef items = items_of(guard_, value);
    if (items->items.size() != target.parts.size()) {
      fail(Code::invalid_argument, "{} values were expected to unpack, and there are {}", target.parts.size(), items->items.size());
    }
    for (std::size_t i = 0; i < target.parts.size(); ++i) assign(target.parts[i], items->items[i], scope);
    return;
  }
  if (target.attribute.empty()) {
    scope->set(target.symbol, value);
    return;
  }
  const Value* space = scope->find(target.symbol);
  if (space == nullptr || !space->is<NamespaceRef>()) fail(Code::invalid_argument, "cannot assign attribute on non-namespace object");
  Namespace& attributes = *std::get<NamespaceRef>(space->data);
  guard_.step(attributes.attributes.size() / 8);
  if (Value* known = attributes.find(target.attribute)) {
    *known = value;
  } else {
    attributes.charge.grow(sizeof(Value) + 32 + target.attribute.size());
    attributes.attributes.emplace_back(target.attribute, value);
  }
}

void Interpreter::set_block(const Statement& statement, const ScopePtr& scope) {
  Text written;
  {
    Writing text(guard_);
    run(statement.body, std::make_shared<Scope>(scope), text);
    written = text.take();
  }
  Value value = make_string(&guard_, std::move(written));
  if (statement.expression) value = filter(*statement.expression, value, scope);
  assign(statement.target, value, scope);
}

void Interpreter::filter_block(const Statement& statement, const ScopePtr& scope, Writing& out) {
  const auto inner = std::make_shared<Scope>(scope);
  Writing text(guard_);
  run(statement.body, inner, text);
  out.append(printed(guard_, filter(*statement.expression, make_string(nullptr, text.take()), inner)));
}

Value Interpreter::define(const Macro& macro, const ScopePtr& scope) {
  auto callable = std::make_shared<Callable>();
  callable->kind = Callable::Kind::macro;
  callable->name = macro.name;
  callable->macro = &macro;
  callable->scope = scope;
  if (captured_.empty() || captured_.back().lock() != scope) captured_.push_back(scope);
  guard_.take(64);  // for the list of scopes; never given back
  return CallableRef(std::move(callable));
}

void Interpreter::call_block(const Statement& statement, const ScopePtr& scope, Writing& out) {
  const Expression& call_expression = *statement.expression;
  const Value callee = evaluate(*call_expression.children[0], scope);
  Arguments given = arguments(call_expression.arguments, scope);
  given.named.emplace_back("caller", define(*statement.macro, scope));
  at_ = call_expression.at;
  out.append(printed(guard_, call(callee, std::move(given))));
}

void Interpreter::with(const Statement& statement, const ScopePtr& scope, Writing& out) {
  const auto inner = std::make_shared<Scope>(scope);
  for (const auto& [target, expression] : statement.bindings) assign(target, evaluate(*expression, scope), inner);
  run(statement.body, inner, out);
}

}  // namespace skipstone::chat::jinja
