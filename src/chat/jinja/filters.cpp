#include "chat/jinja/filters.h"

#include <string_view>
#include <unordered_map>

#include "base/escape.h"
#include "base/status.h"
#include "chat/jinja/operators.h"

namespace skipstone::chat::jinja {

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
