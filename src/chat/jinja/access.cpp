// Lengths, items, attributes, slices.
#include <fmt/format.h>

#include <algorithm>

#include "base/escape.h"
#include "base/status.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"

namespace skipstone::chat::jinja {
namespace {

/// Quoted as in Python, for messages.
std::string quoted(std::string_view name) { return fmt::format("'{}'", shortened(name)); }

Value no_attribute(const Value& object, std::string_view name) {
  return make_undefined(fmt::format("'{}' has no attribute {}", object_name(object), quoted(name)));
}

Value no_item(Guard& guard, const Value& object, const Value& key) {
  if (const String* name = key.string()) return no_attribute(object, name->bytes());
  return make_undefined(object_name(object) + " has no element " + shortened(represented(guard, key).bytes()));
}

Value character(Guard& guard, const String& string, std::size_t at) {
  return make_string(&guard, string.text.part(at, at + character_size(string.bytes(), at)), string.markup);
}

bool is_view(const Sequence& sequence) {
  return sequence.kind == Sequence::Kind::generator || sequence.kind == Sequence::Kind::items_view ||
         sequence.kind == Sequence::Kind::keys_view || sequence.kind == Sequence::Kind::values_view;
}

/// Sets `found` to object[index] of a string or a list; false if it has no such element.
bool element(Guard& guard, const Value& object, std::int64_t index, Value& found) {
  const String* string = object.string();
  if (string != nullptr) guard.step(string->text.size() / 64);
  const Sequence* sequence = object.sequence();
  if (sequence != nullptr && is_view(*sequence)) return false;
  const auto size = static_cast<std::int64_t>(string != nullptr ? count_characters(string->bytes()) : sequence->items.size());
  if (index < 0) index += size;
  if (index < 0 || index >= size) return false;
  if (sequence != nullptr) {
    found = sequence->items[static_cast<std::size_t>(index)];
  } else {
    found = character(guard, *string, byte_of_character(string->bytes(), static_cast<std::size_t>(index)));
  }
  return true;
}

Value loop_attribute(const Loop& loop, std::string_view name, bool& found) {
  const auto index = static_cast<std::int64_t>(loop.index);
  const auto size = static_cast<std::int64_t>(loop.items->items.size());
  found = true;
  if (name == "index") return index + 1;
  if (name == "index0") return index;
  if (name == "first") return index == 0;
  if (name == "last") return index + 1 == size;
  if (name == "length") return size;
  if (name == "revindex") return size - index;
  if (name == "revindex0") return size - index - 1;
  if (name == "depth") return std::int64_t{loop.depth + 1};
  if (name == "depth0") return std::int64_t{loop.depth};
  if (name == "previtem") return index > 0 ? loop.items->items[loop.index - 1] : make_undefined("there is no previous item");
  if (name == "nextitem") return index + 1 < size ? loop.items->items[loop.index + 1] : make_undefined("there is no next item");
  found = false;
  return {};
}

Value bound(Callable::Kind kind, std::string_view name, const Value& self) {
  auto callable = std::make_shared<Callable>();
  callable->kind = kind;
  callable->name = std::string(name);
  callable->self = self;
  return CallableRef(std::move(callable));
}

/// A method or another attribute that the object has by its type.
bool own_attribute(Guard& guard, const Value& object, std::string_view name, Value& found) {
  if (object.is<LoopRef>()) {
    bool known = false;
    found = loop_attribute(*std::get<LoopRef>(object.data), name, known);
    if (!known && (name == "cycle" || name == "changed")) {
      found = bound(name == "cycle" ? Callable::Kind::loop_cycle : Callable::Kind::loop_changed, name, object);
      known = true;
    }
    return known;
  }
  if (object.is<NamespaceRef>()) {
    guard.step(std::get<NamespaceRef>(object.data)->attributes.size() / 8);
    if (const Value* value = std::get<NamespaceRef>(object.data)->find(name)) {
      found = *value;
      return true;
    }
    return false;
  }
  switch (method_of(object, name)) {
    case Method::none:
      break;
    case Method::refused:
      found = make_undefined(fmt::format("access to attribute {} of '{}' object is unsafe.", quoted(name), type_name(object)));
      return true;
    case Method::known:
      found = bound(Callable::Kind::method, name, object);
      return true;
  }
  if (name.size() > 2 && name.substr(0, 2) == "__") {
    found = make_undefined(fmt::format("access to attribute {} of '{}' object is unsafe.", quoted(name), type_name(object)));
    return true;
  }
  return false;
}

}  // namespace

std::size_t length(const Value& value) {
  if (value.is<Undefined>()) return 0;
  if (const String* string = value.string()) return count_characters(string->bytes());
  const Sequence* sequence = value.sequence();
  if (sequence != nullptr && sequence->kind != Sequence::Kind::generator) return sequence->items.size();
  if (const Dict* dict = value.dict()) return dict->items().size();
  if (value.is<LoopRef>()) return std::get<LoopRef>(value.data)->items->items.size();
  fail(Code::invalid_argument, "object of type '{}' has no len()", type_name(value));
}

bool is_iterable(const Value& value) {
  return value.is<Undefined>() || value.string() != nullptr || value.sequence() != nullptr || value.dict() != nullptr ||
         value.is<LoopRef>();
}

SequenceRef items_of(Guard& guard, const Value& value) {
  if (const Sequence* sequence = value.sequence()) {
    if (sequence->kind != Sequence::Kind::generator) return std::get<SequenceRef>(value.data);
    if (!std::exchange(sequence->used_up, true)) return std::get<SequenceRef>(value.data);
    return std::make_shared<const Sequence>(Sequence::Kind::list, std::vector<Value>{}, nullptr);
  }
  std::vector<Value> items;
  if (const String* string = value.string()) {
    for (std::size_t at = 0; at < string->text.size(); at += character_size(string->bytes(), at)) {
      guard.step();
      items.push_back(make_string(&guard, string->text.part(at, at + character_size(string->bytes(), at))));  // of markup, too, plain text
    }
  } else if (const Dict* dict = value.dict()) {
    for (const Dict::Item& entry : dict->items()) items.push_back(entry.first);
  } else if (!value.is<Undefined>()) {
    fail(Code::invalid_argument, "'{}' object is not iterable", type_name(value));
  }
  return std::make_shared<const Sequence>(Sequence::Kind::list, std::move(items), &guard);
}

Value attribute(Guard& guard, const Value& object, std::string_view name) {
  require_defined(object);
  Value found;
  if (own_attribute(guard, object, name, found)) return found;
  if (const Dict* dict = object.dict()) {
    if (const Value* value = dict->find(name)) return *value;
  }
  guard.step();
  return no_attribute(object, name);
}

Value item(Guard& guard, const Value& object, const Value& key) {
  require_defined(object);
  Value found;
  if (const Dict* dict = object.dict()) {
    const Sequence* list = key.sequence();
    const bool hashable = key.dict() == nullptr && (list == nullptr || list->kind != Sequence::Kind::list);
    const Value* value = hashable ? dict->find_key(guard, key) : nullptr;
    if (value != nullptr) return *value;
  } else if ((object.string() != nullptr || object.sequence() != nullptr) && as_integer(key)) {
    if (element(guard, object, *as_integer(key), found)) return found;
  }
  if (const String* name = key.string()) {
    if (own_attribute(guard, object, name->bytes(), found)) return found;
  }
  return no_item(guard, object, key);
}

namespace {

struct Range {
  std::int64_t first, last, step;
};

/// The indexes that a slice names, as PySlice_AdjustIndices counts them.
Range range_of(const Value& first, const Value& last, const Value& step, std::int64_t size) {
  const auto given = [](const Value& value, const char* what) -> std::optional<std::int64_t> {
    if (value.is<None>()) return std::nullopt;
    require_defined(value);
    if (!as_integer(value))
      fail(Code::invalid_argument, "slice indices must be integers or None, and the {} is '{}'", what, type_name(value));
    return as_integer(value);
  };
  const std::int64_t by = given(step, "step").value_or(1);
  if (by == 0) fail(Code::invalid_argument, "slice step cannot be zero");
  const std::int64_t low = by < 0 ? -1 : 0;
  const std::int64_t high = by < 0 ? size - 1 : size;
  const auto place = [&](const Value& value, const char* what, std::int64_t otherwise) {
    const auto index = given(value, what);
    if (!index) return otherwise;
    return *index < 0 ? std::max(*index + size, low) : std::min(*index, high);
  };
  return {place(first, "first", by < 0 ? high : low), place(last, "last", by < 0 ? low : high), by};
}

template <typename Take>
void each(const Range& range, std::int64_t size, Take take) {
  const std::int64_t step = std::clamp(range.step, -size - 1, size + 1);
  for (std::int64_t i = range.first; step > 0 ? i < range.last : i > range.last; i += step) take(static_cast<std::size_t>(i));
}

Value slice_of_string(Guard& guard, const String& string, const Range& range, std::int64_t size) {
  if (range.step == 1) {
    if (range.first >= range.last) return make_string(&guard, Text());
    const std::size_t begin = byte_of_character(string.bytes(), static_cast<std::size_t>(range.first));
    const std::size_t count = byte_of_character(string.bytes().substr(begin), static_cast<std::size_t>(range.last - range.first));
    return make_string(&guard, string.text.part(begin, begin + count), string.markup);
  }
  const Charge room(&guard, static_cast<std::size_t>(size) * sizeof(std::size_t));
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at < string.text.size(); at += character_size(string.bytes(), at)) places.push_back(at);
  guard.step(places.size());
  Text out;
  each(range, size, [&](std::size_t i) { out.append_part(string.text, places[i], places[i] + character_size(string.bytes(), places[i])); });
  return make_string(&guard, std::move(out), string.markup);
}

}  // namespace

Value slice(Guard& guard, const Value& object, const Value& first, const Value& last, const Value& step) {
  require_defined(object);
  const String* string = object.string();
  const Sequence* sequence = object.sequence();
  if (string == nullptr && (sequence == nullptr || is_view(*sequence))) {
    if (object.dict() != nullptr) fail(Code::invalid_argument, "unhashable type: 'slice'");
    fail(Code::invalid_argument, "'{}' object is not subscriptable", type_name(object));
  }
  if (string != nullptr) guard.step(string->text.size() / 64);
  const auto size = static_cast<std::int64_t>(string != nullptr ? count_characters(string->bytes()) : sequence->items.size());
  const Range range = range_of(first, last, step, size);
  if (string != nullptr) return slice_of_string(guard, *string, range, size);
  std::vector<Value> items;
  each(range, size, [&](std::size_t i) { items.push_back(sequence->items[i]); });
  guard.step(items.size());
  return make_sequence(&guard, sequence->kind, std::move(items));
}

}  // namespace skipstone::chat::jinja
