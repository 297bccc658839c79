// Values of the template language. They behave as Python's, for templates are written and tried with Python.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "chat/jinja/guard.h"
#include "chat/jinja/text.h"

namespace skipstone::chat::jinja {

struct String;
struct Sequence;
struct Dict;
struct Namespace;
struct Callable;
struct Loop;

/// An undefined value; printing gives nothing, most other uses throw `why`.
struct Undefined {
  std::shared_ptr<const std::string> why;
};
struct None {};
/// An integer beyond 64 bits, as its decimal digits: kept and printed, not computed with.
struct BigInteger {
  std::shared_ptr<const std::string> digits;
};

using StringRef = std::shared_ptr<const String>;
using SequenceRef = std::shared_ptr<const Sequence>;
using DictRef = std::shared_ptr<const Dict>;
using NamespaceRef = std::shared_ptr<Namespace>;
using CallableRef = std::shared_ptr<const Callable>;
using LoopRef = std::shared_ptr<Loop>;

struct Value {
  using Data = std::variant<Undefined, None, bool, std::int64_t, BigInteger, double, StringRef, SequenceRef, DictRef, NamespaceRef,
                            CallableRef, LoopRef>;

  Value() = default;
  Value(Undefined undefined) : data(std::move(undefined)) {}
  Value(None none) : data(none) {}
  Value(bool boolean) : data(boolean) {}
  Value(std::int64_t integer) : data(integer) {}
  Value(double real) : data(real) {}
  Value(BigInteger integer) : data(std::move(integer)) {}
  Value(StringRef string) : data(std::move(string)) {}
  Value(SequenceRef sequence) : data(std::move(sequence)) {}
  Value(DictRef dict) : data(std::move(dict)) {}
  Value(NamespaceRef space) : data(std::move(space)) {}
  Value(CallableRef callable) : data(std::move(callable)) {}
  Value(LoopRef loop) : data(std::move(loop)) {}
  template <typename T>
  Value(T*) = delete;

  template <typename T>
  const T* get() const {
    return std::get_if<T>(&data);
  }
  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(data);
  }
  /// Null where it is none.
  const String* string() const { return is<StringRef>() ? std::get<StringRef>(data).get() : nullptr; }
  const Sequence* sequence() const { return is<SequenceRef>() ? std::get<SequenceRef>(data).get() : nullptr; }
  const Dict* dict() const { return is<DictRef>() ? std::get<DictRef>(data).get() : nullptr; }

  Data data;
  Origin origin = Origin::template_text;  ///< of a number, boolean or none; strings know it by the byte
};

struct String {
  Text text;
  bool markup = false;  ///< made by the filter `safe`: text that is added to it is escaped for HTML
  Charge charge;

  String(Text given, bool is_markup, Guard* guard)
      : text(std::move(given)), markup(is_markup), charge(guard, text.memory() + sizeof(String)) {
    text.shrink();
  }
  std::string_view bytes() const { return text.bytes(); }
};

struct Sequence {
  enum class Kind { list, tuple, range, generator, items_view, keys_view, values_view };

  Kind kind;
  std::vector<Value> items;
  int depth = 1;
  mutable bool used_up = false;  ///< a generator that was iterated over
  Charge charge;

  Sequence(Kind given, std::vector<Value> values, Guard* guard);
};

/// Keeps the order of its keys.
struct Dict {
  using Item = std::pair<Value, Value>;

  int depth = 1;
  Charge charge;

  explicit Dict(Guard* guard) : charge(guard, sizeof(Dict)) {}
  const std::vector<Item>& items() const { return items_; }
  const Value* find(std::string_view key) const;
  const Value* find_equal(const Value& key) const;
  /// Throws invalid_argument for keys that cannot be hashed.
  const Value* find_key(Guard& guard, const Value& key) const;
  void set(const Value& key, Value value);

 private:
  std::size_t position(const Value& key) const;

  std::vector<Item> items_;
  std::map<std::string_view, std::size_t> index_;  ///< of string keys, once there are many; not a hash table, which chosen keys make slow
};

/// The one mutable value: namespace().
struct Namespace {
  std::vector<std::pair<std::string, Value>> attributes;
  Charge charge;
  explicit Namespace(Guard* guard) : charge(guard, sizeof(Namespace)) {}
  Value* find(std::string_view name);
};

/// The variable `loop` within a for.
struct Loop {
  SequenceRef items;
  std::size_t index = 0;
  int depth = 0;
  std::vector<Value> changed;
  bool changed_called = false;
};

struct Macro;  // syntax.h
struct Scope;  // interpreter.h

struct Callable {
  enum class Kind { macro, method, function, loop_cycle, loop_changed };
  Kind kind;
  std::string name;
  Value self;                    ///< whose method it is
  const Macro* macro = nullptr;  ///< lives as long as the template
  std::shared_ptr<Scope> scope;  ///< that a macro was defined in
};

Value make_string(Guard* guard, Text text, bool markup = false);
Value make_string(Guard* guard, std::string bytes, Origin origin);
Value make_sequence(Guard* guard, Sequence::Kind kind, std::vector<Value> items);
Value make_undefined(std::string why);

/// Python's name of the type: "str", "NoneType".
const char* type_name(const Value& value);
/// As jinja2 names it in sentences: "dict object", "None".
std::string object_name(const Value& value);

/// Throws invalid_argument, naming the undefined value, where it is one.
void require_defined(const Value& value);

}  // namespace skipstone::chat::jinja
