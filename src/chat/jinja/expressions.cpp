#include <fmt/format.h>

#include "base/escape.h"
#include "base/status.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/operators.h"

namespace skipstone::chat::jinja {

Value Interpreter::evaluate(const Expression& expression, const ScopePtr& scope) {
  using Kind = Expression::Kind;
  guard_.step();
  switch (expression.kind) {
    case Kind::constant:
      return expression.constant;
    case Kind::name:
      return name(expression, *scope);
    default:
      break;
  }
  const Guard::Level level(guard_);
  return operation(expression, scope);
}

Value Interpreter::operation(const Expression& expression, const ScopePtr& scope) {
  using Kind = Expression::Kind;
  const auto& parts = expression.children;
  const auto child = [&](std::size_t i) { return evaluate(*parts[i], scope); };
  switch (expression.kind) {
    case Kind::attribute: {
      const Value object = child(0);
      at_ = expression.at;
      return attribute(guard_, object, expression.name);
    }
    case Kind::item: {
      const Value object = child(0);
      const Value key = child(1);
      at_ = expression.at;
      return item(guard_, object, key);
    }
    case Kind::call: {
      const Value callee = child(0);
      Arguments given = arguments(expression.arguments, scope);
      at_ = expression.at;
      return call(callee, std::move(given));
    }
    case Kind::filter:
      return filter(expression, child(0), scope);
    case Kind::test: {
      const Value value = child(0);
      const Arguments given = arguments(expression.arguments, scope);
      at_ = expression.at;
      return passes(guard_, expression.name, value, given);
    }
    case Kind::logical_not:
      return !truth(child(0));
    case Kind::logical_and: {
      Value left = child(0);
      return truth(left) ? child(1) : left;
    }
    case Kind::logical_or: {
      Value left = child(0);
      return truth(left) ? left : child(1);
    }
    case Kind::binary: {
      const Value left = child(0);
      const Value right = child(1);
      at_ = expression.at;
      return compute(guard_, expression.operators[0], left, right);
    }
    case Kind::negative:
    case Kind::positive: {
      const Value value = child(0);
      at_ = expression.at;
      return expression.kind == Kind::negative ? negated(value) : as_number(value);
    }
    case Kind::conditional:
      if (truth(child(1))) return child(0);
      return parts[2] ? child(2) : make_undefined("the condition is false, and there is no else to take a value from");
    case Kind::compare:
      return compare_all(expression, scope);
    case Kind::concatenate:
      return concatenated(expression, scope);
    case Kind::slice:
      return slice_of(expression, scope);
    default:
      return listing(expression, scope);
  }
}

Value Interpreter::name(const Expression& expression, const Scope& scope) {
  if (const Value* value = scope.find(expression.symbol)) return *value;
  if (const Value* value = variables_.find(expression.name)) return *value;
  if (const Value* value = Functions::find(expression.name)) return *value;
  return make_undefined(fmt::format("'{}' is undefined", shortened(expression.name)));
}

Value Interpreter::listing(const Expression& expression, const ScopePtr& scope) {
  using Kind = Expression::Kind;
  std::vector<Value> items;
  items.reserve(expression.children.size());
  for (const ExpressionPtr& child : expression.children) items.push_back(evaluate(*child, scope));
  at_ = expression.at;
  if (expression.kind != Kind::dict) {
    return make_sequence(&guard_, expression.kind == Kind::list ? Sequence::Kind::list : Sequence::Kind::tuple, std::move(items));
  }
  auto dict = std::make_shared<Dict>(&guard_);
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) dict->set(items[i], std::move(items[i + 1]));
  return DictRef(std::move(dict));
}

Value Interpreter::compare_all(const Expression& expression, const ScopePtr& scope) {
  Value left = evaluate(*expression.children[0], scope);
  for (std::size_t i = 0; i < expression.operators.size(); ++i) {
    Value right = evaluate(*expression.children[i + 1], scope);
    at_ = expression.at;
    if (!compare(guard_, expression.operators[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Interpreter::concatenated(const Expression& expression, const ScopePtr& scope) {
  Text text;
  for (const ExpressionPtr& child : expression.children) {
    const Value part = evaluate(*child, scope);
    at_ = expression.at;
    text.append(printed(guard_, part));
  }
  return make_string(&guard_, std::move(text));
}

Value Interpreter::filter(const Expression& expression, const Value& input, const ScopePtr& scope) {
  // The innermost filter of a filter block's chain has no input expression of its own.
  const Value from =
      expression.children[0] && expression.children[0]->kind == Expression::Kind::filter && !expression.children[0]->children[0]
          ? filter(*expression.children[0], input, scope)
          : input;
  const Arguments given = arguments(expression.arguments, scope);
  at_ = expression.at;
  return apply_filter(guard_, expression.name, from, given);
}

Value Interpreter::slice_of(const Expression& expression, const ScopePtr& scope) {
  const auto part = [&](std::size_t i) { return expression.children[i] ? evaluate(*expression.children[i], scope) : Value(None{}); };
  const Value object = part(0);
  const Value first = part(1);
  const Value last = part(2);
  const Value step = part(3);
  at_ = expression.at;
  return slice(guard_, object, first, last, step);
}

Arguments Interpreter::arguments(const std::vector<Argument>& given, const ScopePtr& scope) {
  Arguments all;
  for (const Argument& argument : given) {
    Value value = evaluate(*argument.value, scope);
    if (argument.kind == Argument::Kind::positional) {
      all.positional.push_back(std::move(value));
    } else if (argument.kind == Argument::Kind::named) {
      all.named.emplace_back(argument.name, std::move(value));
    } else if (argument.kind == Argument::Kind::list) {
      const SequenceRef items = items_of(guard_, value);
      guard_.step(items->items.size());
      all.positional.insert(all.positional.end(), items->items.begin(), items->items.end());
    } else {
      if (value.dict() == nullptr) fail(Code::invalid_argument, "argument after ** must be a mapping, not {}", type_name(value));
      for (const Dict::Item& entry : value.dict()->items()) {
        if (entry.first.string() == nullptr) fail(Code::invalid_argument, "keywords must be strings");
        guard_.step();
        all.named.emplace_back(std::string(entry.first.string()->bytes()), entry.second);
      }
    }
  }
  return all;
}

}  // namespace skipstone::chat::jinja
