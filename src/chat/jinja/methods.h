// The methods of Python's str, list, tuple and dict that do not change the object. Those that change it are known too and refused, as
// jinja2's ImmutableSandboxedEnvironment refuses them.
#pragma once

#include <string_view>

#include "chat/jinja/arguments.h"
#include "chat/jinja/value.h"

namespace skipstone::chat::jinja {

enum class Method { none, refused, known };
Method method_of(const Value& object, std::string_view name);

/// Calls a known one.
Value call_method(Guard& guard, const Value& object, const std::string& name, const Arguments& arguments);

/// Methods of strings; filters use them too.
Text replaced(Guard& guard, const Text& text, std::string_view what, const Text& with, std::int64_t most);
Text stripped(const Text& text, const Value* characters, bool front, bool back);
enum class Casing { upper, lower, capitalized, titled, swapped };
Text recased(const Text& text, Casing casing);
/// Splits at the line ends of str.splitlines().
std::vector<Value> lines_of(Guard& guard, const Text& text, bool keep_ends, bool markup);
/// Throws, naming `what`, where it is no string.
const String& string_argument(const Value& value, const char* what);

bool is_string_method(std::string_view name);
Value call_string_method(Guard& guard, const Value& object, const std::string& name, const Arguments& arguments);

}  // namespace skipstone::chat::jinja
