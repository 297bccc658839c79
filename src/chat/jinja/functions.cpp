// The functions available to templates.
#include <map>

#include "base/status.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/operators.h"

namespace skipstone::chat::jinja {

Functions::~Functions() {
  for (const auto& known : namespaces_) {
    if (const NamespaceRef space = known.lock()) std::exchange(space->attributes, {});
  }
}

const Value* Functions::find(const std::string& name) {
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

Value Functions::make_dict(const Arguments& arguments) {
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

Value Functions::make_namespace(const Arguments& arguments) {
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

Value Functions::range(const Arguments& arguments) {
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

Value Functions::call(const std::string& name, const Arguments& arguments) {
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

}  // namespace skipstone::chat::jinja
