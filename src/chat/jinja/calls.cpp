// Macros, methods, and the functions available to templates: namespace, range, dict, raise_exception, strftime_now.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/escape.h"
#include "base/status.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/methods.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/print.h"

namespace skipstone::chat::jinja {

const Value* Interpreter::global(const std::string& name) {
  static const std::map<std::string, Value> functions = [] {
    std::map<std::string, Value> all;
    for (const char* function : {"namespace", "range", "dict", "raise_exception", "strftime_now"}) {
      auto callable = std::make_shared<Callable>();
      callable->kind = Callable::Kind::function;
      callable->name = function;
      all.emplace(function, CallableRef(std::move(callable)));
    }
    return all;
  }();
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : &found->second;
}

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
      return call_function(callable->name, arguments);
    default:
      return call_loop(*callable, arguments);
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

Value Interpreter::make_dict(const Arguments& arguments) {
  auto dict = std::make_shared<Dict>(&guard_);
  if (arguments.positional.size() > 1)
    fail(Code::invalid_argument, "dict expected at most 1 argument, got {}", arguments.positional.size());
  for (const Value& from : arguments.positional) {
    require_defined(from);
    if (from.dict() != nullptr) {
      for (const Dict::Item& entry : from.dict()->items()) dict->set(entry.first, entry.second);
      continue;
    }
    const SequenceRef pairs = items_of(guard_, from);
    for (const Value& pair : pairs->items) {
      const SequenceRef two = items_of(guard_, pair);
      if (two->items.size() != 2) fail(Code::invalid_argument, "an element of a dict() has length {}; 2 is required", two->items.size());
      guard_.step();
      dict->set(two->items[0], two->items[1]);
    }
  }
  for (const auto& [name, value] : arguments.named) dict->set(make_string(&guard_, name, Origin::template_text), value);
  return DictRef(std::move(dict));
}

Value Interpreter::make_namespace(const Arguments& arguments) {
  const Value initial = make_dict(arguments);
  const auto space = std::make_shared<Namespace>(&guard_);
  guard_.take(64);  // for the list of namespaces; never given back
  namespaces_.push_back(space);
  for (const Dict::Item& entry : initial.dict()->items()) {
    if (entry.first.string() == nullptr) continue;
    space->charge.grow(sizeof(Value) + 32 + entry.first.string()->text.size());
    space->attributes.emplace_back(std::string(entry.first.string()->bytes()), entry.second);
  }
  return Value(space);
}

Value Interpreter::range(const Arguments& arguments) {
  constexpr std::int64_t most = 100'000;  // MAX_RANGE of jinja2's sandbox
  const auto& given = arguments.positional;
  if (given.empty() || given.size() > 3 || !arguments.named.empty()) fail(Code::invalid_argument, "range takes 1 to 3 integers");
  const auto at = [&](std::size_t i) { return integer(given[i], "an argument of range()"); };
  const std::int64_t first = given.size() > 1 ? at(0) : 0;
  const std::int64_t last = given.size() > 1 ? at(1) : at(0);
  const std::int64_t step = given.size() > 2 ? at(2) : 1;
  if (step == 0) fail(Code::invalid_argument, "range() arg 3 must not be zero");
  std::vector<Value> items;
  const double span = (static_cast<double>(last) - static_cast<double>(first)) / static_cast<double>(step);
  if (span > static_cast<double>(most))
    fail(Code::invalid_argument, "Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).", most);
  for (std::int64_t i = first; step > 0 ? i < last : i > last;) {
    items.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  guard_.step(items.size());
  return make_sequence(&guard_, Sequence::Kind::range, std::move(items));
}

Value Interpreter::call_function(const std::string& name, const Arguments& arguments) {
  if (name == "namespace") return make_namespace(arguments);
  if (name == "dict") return make_dict(arguments);
  if (name == "range") return range(arguments);
  const bool raises = name == "raise_exception";
  const auto bound = arguments.bind(name, {raises ? "message" : "format"});
  if (bound[0] == nullptr) fail(Code::invalid_argument, "'{}' needs an argument", name);
  const Text text = printed(guard_, *bound[0]);
  if (raises) fail(Code::invalid_argument, "{}", text.bytes());
  if (text.size() > 1000) fail(Code::invalid_argument, "the format of strftime_now() has {} bytes; 1000 are the most", text.size());
  return make_string(&guard_, formatted_time(text.bytes(), now_), Origin::template_text);
}

Value Interpreter::call_loop(const Callable& callable, const Arguments& arguments) {
  Loop& loop = *std::get<LoopRef>(callable.self.data);
  if (callable.kind == Callable::Kind::loop_cycle) {
    if (arguments.positional.empty()) fail(Code::invalid_argument, "no items for cycling given");
    return arguments.positional[loop.index % arguments.positional.size()];
  }
  const auto is_equal = [&](const Value& a, const Value& b) { return compare(guard_, Operator::equal, a, b); };
  const bool same = loop.changed_called && std::equal(loop.changed.begin(), loop.changed.end(), arguments.positional.begin(),
                                                      arguments.positional.end(), is_equal);
  loop.changed_called = true;
  loop.changed = arguments.positional;
  return !same;
}

}  // namespace skipstone::chat::jinja
