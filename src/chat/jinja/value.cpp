#include "chat/jinja/value.h"

#include <algorithm>

#include "base/status.h"
#include "chat/jinja/operators.h"

namespace skipstone::chat::jinja {
namespace {

constexpr std::size_t keys_to_index = 12;

int depth_of(const Value& value) {
  if (const Sequence* sequence = value.sequence()) return sequence->depth;
  if (const Dict* dict = value.dict()) return dict->depth;
  return 0;
}

int deeper(int depth) {
  if (depth >= most_value_depth) fail(Code::invalid_argument, "a value nests more than {} levels deep", most_value_depth);
  return depth + 1;
}

}  // namespace

Sequence::Sequence(Kind given, std::vector<Value> values, Guard* guard)
    : kind(given), items(std::move(values)), charge(guard, sizeof(Sequence) + items.size() * sizeof(Value)) {
  int deepest = 0;
  for (const Value& item : items) deepest = std::max(deepest, depth_of(item));
  depth = deeper(deepest);
}

const Value* Dict::find(std::string_view key) const {
  if (!index_.empty()) {
    const auto found = index_.find(key);
    return found == index_.end() ? nullptr : &items_[found->second].second;
  }
  for (const Item& item : items_) {
    const String* name = item.first.string();
    if (name != nullptr && name->bytes() == key) return &item.second;
  }
  return nullptr;
}

std::size_t Dict::position(const Value& key) const {
  if (const String* name = key.string(); name != nullptr && !index_.empty()) {
    const auto found = index_.find(name->bytes());
    return found == index_.end() ? items_.size() : found->second;
  }
  std::size_t i = 0;
  while (i < items_.size() && !equal(items_[i].first, key)) ++i;
  return i;
}

const Value* Dict::find_key(Guard& guard, const Value& key) const {
  if (const String* name = key.string()) {
    guard.step(name->text.size() / 64);
    return find(name->bytes());
  }
  guard.step(items_.size() / 4);
  return find_equal(key);
}

const Value* Dict::find_equal(const Value& key) const {
  require_hashable(key);
  const std::size_t at = position(key);
  return at == items_.size() ? nullptr : &items_[at].second;
}

void Dict::set(const Value& key, Value value) {
  require_hashable(key);
  depth = std::max(depth, deeper(depth_of(value)));
  charge.step(1 + (key.string() != nullptr ? 0 : items_.size() / 4));
  const std::size_t at = position(key);
  if (at < items_.size()) {
    items_[at].second = std::move(value);
    return;
  }
  charge.grow(sizeof(Item) + (items_.size() >= keys_to_index ? 64 : 0));
  items_.emplace_back(key, std::move(value));
  if (items_.size() < keys_to_index) return;
  for (std::size_t i = index_.empty() ? 0 : at; i < items_.size(); ++i) {
    if (const String* name = items_[i].first.string()) index_.emplace(name->bytes(), i);
  }
}

Value* Namespace::find(std::string_view name) {
  for (auto& [key, value] : attributes) {
    if (key == name) return &value;
  }
  return nullptr;
}

Value make_string(Guard* guard, Text text, bool markup) { return StringRef(std::make_shared<String>(std::move(text), markup, guard)); }

Value make_string(Guard* guard, std::string bytes, Origin origin) { return make_string(guard, Text(std::move(bytes), origin)); }

Value make_sequence(Guard* guard, Sequence::Kind kind, std::vector<Value> items) {
  return SequenceRef(std::make_shared<Sequence>(kind, std::move(items), guard));
}

Value make_undefined(std::string why) { return Undefined{std::make_shared<const std::string>(std::move(why))}; }

namespace {

const char* sequence_name(Sequence::Kind kind) {
  switch (kind) {
    case Sequence::Kind::list:
      return "list";
    case Sequence::Kind::tuple:
      return "tuple";
    case Sequence::Kind::range:
      return "range";
    case Sequence::Kind::generator:
      return "generator";
    case Sequence::Kind::items_view:
      return "dict_items";
    case Sequence::Kind::keys_view:
      return "dict_keys";
    case Sequence::Kind::values_view:
      return "dict_values";
  }
  return "list";
}

}  // namespace

const char* type_name(const Value& value) {
  struct Name {
    const char* operator()(const Undefined&) const { return "Undefined"; }
    const char* operator()(const None&) const { return "NoneType"; }
    const char* operator()(bool) const { return "bool"; }
    const char* operator()(std::int64_t) const { return "int"; }
    const char* operator()(const BigInteger&) const { return "int"; }
    const char* operator()(double) const { return "float"; }
    const char* operator()(const StringRef& string) const { return string->markup ? "Markup" : "str"; }
    const char* operator()(const SequenceRef& sequence) const { return sequence_name(sequence->kind); }
    const char* operator()(const DictRef&) const { return "dict"; }
    const char* operator()(const NamespaceRef&) const { return "Namespace"; }
    const char* operator()(const CallableRef& callable) const {
      return callable->kind == Callable::Kind::macro      ? "Macro"
             : callable->kind == Callable::Kind::function ? "function"
                                                          : "builtin_function_or_method";
    }
    const char* operator()(const LoopRef&) const { return "LoopContext"; }
  };
  return std::visit(Name{}, value.data);
}

std::string object_name(const Value& value) { return value.is<None>() ? "None" : std::string(type_name(value)) + " object"; }

void require_defined(const Value& value) {
  if (const Undefined* undefined = value.get<Undefined>()) {
    fail(Code::invalid_argument, "{}", undefined->why ? *undefined->why : std::string("a value is undefined"));
  }
}

}  // namespace skipstone::chat::jinja
