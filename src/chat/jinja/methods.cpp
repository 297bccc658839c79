// Methods of dicts, lists and tuples.
#include <algorithm>

#include "base/status.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/operators.h"

namespace skipstone::chat::jinja {
namespace {

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Value dict_view(Guard& guard, const Dict& dict, const std::string& name) {
  std::vector<Value> items;
  items.reserve(dict.items().size());
  for (const Dict::Item& entry : dict.items()) {
    guard.step();
    if (name == "keys") {
      items.push_back(entry.first);
    } else if (name == "values") {
      items.push_back(entry.second);
    } else {
      items.push_back(make_sequence(&guard, Sequence::Kind::tuple, {entry.first, entry.second}));
    }
  }
  const Sequence::Kind kind = name == "keys"     ? Sequence::Kind::keys_view
                              : name == "values" ? Sequence::Kind::values_view
                                                 : Sequence::Kind::items_view;
  return make_sequence(&guard, kind, std::move(items));
}

Value call_dict_method(Guard& guard, const Dict& dict, const Value& object, const std::string& name, const Arguments& arguments) {
  if (name == "get") {
    const auto bound = arguments.bind(name, {"key", "default"});
    if (bound[0] == nullptr) fail(Code::invalid_argument, "get expected at least 1 argument, got 0");
    if (const Value* value = dict.find_key(guard, *bound[0])) return *value;
    return bound[1] != nullptr ? *bound[1] : Value(None{});
  }
  arguments.bind(name, {});
  if (name == "copy") return object;
  return dict_view(guard, dict, name);
}

Value call_list_method(Guard& guard, const Sequence& list, const Value& object, const std::string& name, const Arguments& arguments) {
  if (name == "copy") return object;
  const auto bound = arguments.bind(name, {"value", "start", "stop"});
  if (bound[0] == nullptr) fail(Code::invalid_argument, "'{}' expected at least 1 argument, got 0", name);
  guard.step(list.items.size());
  const auto is_it = [&](const Value& item) { return equal(item, *bound[0]); };
  if (name == "count") return static_cast<std::int64_t>(std::count_if(list.items.begin(), list.items.end(), is_it));
  const auto found = std::find_if(list.items.begin(), list.items.end(), is_it);
  if (found == list.items.end()) fail(Code::invalid_argument, "the value is not in the {}", type_name(object));
  return static_cast<std::int64_t>(found - list.items.begin());
}

}  // namespace

Method method_of(const Value& object, std::string_view name) {
  if (object.string() != nullptr) return is_string_method(name) ? Method::known : Method::none;
  if (object.dict() != nullptr) {
    if (one_of(name, {"get", "items", "keys", "values", "copy"})) return Method::known;
    return one_of(name, {"pop", "update", "setdefault", "clear", "popitem"}) ? Method::refused : Method::none;
  }
  const Sequence* sequence = object.sequence();
  if (sequence == nullptr) return Method::none;
  const bool list = sequence->kind == Sequence::Kind::list;
  if ((list || sequence->kind == Sequence::Kind::tuple) && one_of(name, {"index", "count"})) return Method::known;
  if (list && name == "copy") return Method::known;
  const bool changes = one_of(name, {"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"});
  return list && changes ? Method::refused : Method::none;
}

Value call_method(Guard& guard, const Value& object, const std::string& name, const Arguments& arguments) {
  if (object.string() != nullptr) return call_string_method(guard, object, name, arguments);
  if (const Dict* dict = object.dict()) return call_dict_method(guard, *dict, object, name, arguments);
  return call_list_method(guard, *object.sequence(), object, name, arguments);
}

}  // namespace skipstone::chat::jinja
