// Python's operators on the values, and values as text. All throw invalid_argument where Python raises.
#pragma once

#include <optional>
#include <string>

#include "chat/jinja/syntax.h"
#include "chat/jinja/value.h"

namespace skipstone::chat::jinja {

bool truth(const Value& value);
bool equal(const Value& a, const Value& b);
/// a < b.
bool less(Guard& guard, const Value& a, const Value& b);
void require_hashable(const Value& key);

/// `op` is one of == != < <= > >= in, not in.
bool compare(Guard& guard, Operator op, const Value& a, const Value& b);
/// `op` is one of + - * / // % **.
Value compute(Guard& guard, Operator op, const Value& a, const Value& b);
Value negated(const Value& value);
Value as_number(const Value& value);  ///< unary plus

std::size_t length(const Value& value);
/// The items that a loop runs over: of a dict its keys, of a string its characters.
SequenceRef items_of(Guard& guard, const Value& value);
bool is_iterable(const Value& value);

/// object[key], and for strings object.key if no such item exists; undefined if neither does.
Value item(Guard& guard, const Value& object, const Value& key);
/// object.name, a method first; undefined if absent.
Value attribute(Guard& guard, const Value& object, std::string_view name);
/// object[first:last:step]; absent ones are none.
Value slice(Guard& guard, const Value& object, const Value& first, const Value& last, const Value& step);

/// An integer, or a boolean as one; throws with `what` where it is neither.
std::int64_t integer(const Value& value, const char* what);
std::optional<std::int64_t> as_integer(const Value& value);
std::optional<double> as_real(const Value& value);  ///< integers, too

/// The characters &, <, >, ', " as HTML has them, unless it is markup already.
Text html_escaped(const Value& value);

// ---- values as text: the results of Python's str(), repr() and json.dumps() ----

/// str(value): strings as they are, nothing for undefined ones.
Text printed(Guard& guard, const Value& value);
/// repr(value).
Text represented(Guard& guard, const Value& value);

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool indented = false;
  Text indent;  ///< of one level
  Text item_separator, key_separator;
};
/// Throws invalid_argument for values without a JSON form.
Text to_json(Guard& guard, const Value& value, const JsonStyle& style);

/// "1.0", "1e-07", "inf": the shortest digits that give the number back, as repr() writes them.
std::string real_text(double number);

}  // namespace skipstone::chat::jinja
