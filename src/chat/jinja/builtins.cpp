#include "chat/jinja/builtins.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/escape.h"
#include "base/status.h"
#include "chat/jinja/operators.h"

namespace skipstone::chat::jinja {

std::vector<const Value*> Arguments::bind(const std::string& function, std::initializer_list<const char*> names) const {
  if (positional.size() > names.size()) {
    fail(Code::invalid_argument, "'{}' takes at most {} arguments, and {} are given", shortened(function), names.size(), positional.size());
  }
  std::vector<const Value*> bound(names.size(), nullptr);
  for (std::size_t i = 0; i < positional.size(); ++i) bound[i] = &positional[i];
  for (const auto& [name, value] : named) {
    const auto* found = std::find_if(names.begin(), names.end(), [&, &key = name](const char* known) { return key == known; });
    if (found == names.end()) fail(Code::invalid_argument, "'{}' has no argument '{}'", shortened(function), shortened(name));
    const Value*& slot = bound[static_cast<std::size_t>(found - names.begin())];
    if (slot != nullptr) fail(Code::invalid_argument, "'{}' is given its argument '{}' twice", shortened(function), shortened(name));
    slot = &value;
  }
  return bound;
}

std::int64_t integer_or(const Value* argument, std::int64_t otherwise) {
  return argument == nullptr || argument->is<None>() ? otherwise : integer(*argument, "the argument");
}

bool true_or(const Value* argument, bool otherwise) { return argument == nullptr ? otherwise : truth(*argument); }

Value apply_filter(Guard& guard, const std::string& name, const Value& input, const Arguments& arguments) {
  static const std::unordered_map<std::string_view, Filter> table = [] {
    std::unordered_map<std::string_view, Filter> all;
    for (const auto& [filters, count] : {text_filters(), list_filters()}) {
      for (std::size_t i = 0; i < count; ++i) all.emplace(filters[i].name, filters[i].apply);
    }
    return all;
  }();
  guard.step();
  const auto found = table.find(name);
  if (found == table.end()) fail(Code::invalid_argument, "there is no filter '{}'", shortened(name, 40));
  return found->second({guard, name, input, arguments});
}

}  // namespace skipstone::chat::jinja
