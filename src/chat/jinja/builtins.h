// What a template can call besides functions: filters, tests, methods of values; and the arguments of a call.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/jinja/value.h"

namespace skipstone::chat::jinja {

/// The arguments of one call.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  /// In the order of `names`, null where an argument is not given. Throws invalid_argument, naming `function`, for arguments that it does
  /// not have.
  std::vector<const Value*> bind(const std::string& function, std::initializer_list<const char*> names) const;
};

// ---- filters of jinja2, and tojson as in transformers ----

/// Throws invalid_argument for an unknown filter.
Value apply_filter(Guard& guard, const std::string& name, const Value& input, const Arguments& arguments);

/// One filter's call. Tables by file: text_filters() and list_filters().
struct FilterCall {
  Guard& guard;
  const std::string& name;
  const Value& input;
  const Arguments& arguments;

  Value text(Text result, bool markup = false) const { return make_string(&guard, std::move(result), markup); }
};
using Filter = Value (*)(const FilterCall&);
struct NamedFilter {
  const char* name;
  Filter apply;
};
std::pair<const NamedFilter*, std::size_t> text_filters();
std::pair<const NamedFilter*, std::size_t> list_filters();

/// The integer that an argument is, or `otherwise` where it is not given.
std::int64_t integer_or(const Value* argument, std::int64_t otherwise);
bool true_or(const Value* argument, bool otherwise);

// ---- the tests that follow "is" ----

/// Throws invalid_argument for an unknown test.
bool passes(Guard& guard, const std::string& name, const Value& value, const Arguments& arguments);

// ---- methods of Python's str, list, tuple and dict that do not change the object ----

// Those that change it are known too and refused, as jinja2's ImmutableSandboxedEnvironment refuses them.

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
