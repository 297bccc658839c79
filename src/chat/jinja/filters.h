// The filters of jinja2, and tojson as in transformers.
#pragma once

#include <string>

#include "chat/jinja/arguments.h"
#include "chat/jinja/value.h"

namespace skipstone::chat::jinja {

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

}  // namespace skipstone::chat::jinja
