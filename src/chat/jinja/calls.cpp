// Calls of macros, methods, functions and a loop's own.
#include <fmt/format.h>

#include <algorithm>

#include "base/escape.h"
#include "base/status.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/operators.h"

namespace skipstone::chat::jinja {
namespace {

/// loop.cycle() and loop.changed().
Value call_loop(Guard& guard, const Callable& callable, const Arguments& arguments) {
  Loop& loop = *std::get<LoopRef>(callable.self.data);
  if (callable.kind == Callable::Kind::loop_cycle) {
    if (arguments.positional.empty()) fail(Code::invalid_argument, "no items for cycling given");
    return arguments.positional[loop.index % arguments.positional.size()];
  }
  const auto is_equal = [&](const Value& a, const Value& b) { return compare(guard, Operator::equal, a, b); };
  const bool same = loop.changed_called && std::equal(loop.changed.begin(), loop.changed.end(), arguments.positional.begin(),
                                                      arguments.positional.end(), is_equal);
  loop.changed_called = true;
  loop.changed = arguments.positional;
  return !same;
}

}  // namespace

Value Interpreter::call(const Value& callee, Arguments arguments) {
  require_defined(callee);
  if (!callee.is<CallableRef>()) fail(Code::invalid_argument, "'{}' object is not callable", type_name(callee));
  const CallableRef callable = std::get<CallableRef>(callee.data);
  switch (callable->kind) {
    case Callable::Kind::macro:
      return call_macro(*callable, std::move(arguments));
    case Callable::Kind::method:
      return call_method(guard_, callable->self, callable->name, arguments);
    case Callable::Kind::function:
      return functions_.call(callable->name, arguments);
    default:
      return call_loop(guard_, *callable, arguments);
  }
}

void Interpreter::bind_parameters(const Macro& macro, Arguments& arguments, const ScopePtr& scope) {
  auto& named = arguments.named;
  const auto take_named = [&](const std::string& name) -> const Value* {
    const auto found = std::find_if(named.begin(), named.end(), [&](const auto& argument) { return argument.first == name; });
    return found == named.end() ? nullptr : &found->second;
  };
  const std::size_t given = arguments.positional.size();
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
    const Macro::Parameter& parameter = macro.parameters[i];
    guard_.step(named.size() / 4);
    const Value* by_name = take_named(parameter.name);
    if (i < given && by_name != nullptr) {
      fail(Code::invalid_argument, "macro '{}' got multiple values for argument '{}'", shortened(macro.name), shortened(parameter.name));
    }
    Value value = i < given ? arguments.positional[i] : by_name != nullptr ? *by_name : Value();
    if (i >= given && by_name == nullptr) {
      value = parameter.default_value ? evaluate(*parameter.default_value, scope)
                                      : make_undefined(fmt::format("parameter '{}' was not provided", shortened(parameter.name)));
    }
    named.erase(std::remove_if(named.begin(), named.end(), [&](const auto& argument) { return argument.first == parameter.name; }),
                named.end());
    scope->set(parameter.symbol, std::move(value));
  }
  if (given > macro.parameters.size() && !macro.takes_rest) {
    fail(Code::invalid_argument, "macro '{}' takes not more than {} argument(s)", shortened(macro.name), macro.parameters.size());
  }
}

Value Interpreter::call_macro(const Callable& callable, Arguments arguments) {
  const Macro& macro = *callable.macro;
  const auto scope = std::make_shared<Scope>(callable.scope);
  bind_parameters(macro, arguments, scope);
  if (macro.takes_rest) {
    const std::size_t bound = std::min(macro.parameters.size(), arguments.positional.size());
    std::vector<Value> rest(arguments.positional.begin() + static_cast<std::ptrdiff_t>(bound), arguments.positional.end());
    scope->set(Symbols::varargs, make_sequence(&guard_, Sequence::Kind::tuple, std::move(rest)));
  }
  auto& named = arguments.named;
  const auto caller = std::find_if(named.begin(), named.end(), [](const auto& argument) { return argument.first == "caller"; });
  if (macro.takes_caller) {
    scope->set(Symbols::caller, caller != named.end() ? caller->second : make_undefined("No caller defined"));
    if (caller != named.end()) named.erase(caller);
  }
  if (macro.takes_named_rest) {
    auto rest = std::make_shared<Dict>(&guard_);
    for (const auto& [name, value] : named) rest->set(make_string(&guard_, name, Origin::template_text), value);
    scope->set(Symbols::kwargs, DictRef(std::move(rest)));
  } else if (!named.empty()) {
    fail(Code::invalid_argument, "macro '{}' takes no keyword argument '{}'", shortened(macro.name), shortened(named.front().first));
  }
  Text written;
  {
    Writing out(guard_);
    run(*macro.body, scope, out);
    written = out.take();
  }
  return make_string(&guard_, std::move(written));
}

}  // namespace skipstone::chat::jinja
