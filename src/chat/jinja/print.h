// Values as text: the results of Python's str(), repr() and json.dumps().
#pragma once

#include <string>

#include "chat/jinja/value.h"

namespace skipstone::chat::jinja {

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
