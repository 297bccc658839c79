#include "chat/output/tool.h"

#include <algorithm>

#include "json/json.h"

namespace skipstone::chat {
namespace {

const SortedJson* member(const SortedJson& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

/// "string", a list of types with it, an enumeration of strings.
bool allows_text(const SortedJson& schema) {
  if (const SortedJson* type = member(schema, "type")) {
    if (type->is_string()) return *type == "string";
    return type->is_array() && std::ranges::find(*type, SortedJson("string")) != type->end();
  }
  const SortedJson* values = member(schema, "enum");
  return values != nullptr && values->is_array() && !values->empty() &&
         std::ranges::all_of(*values, [](const SortedJson& v) { return v.is_string(); });
}

}  // namespace

bool Tool::is_text(std::string_view parameter, bool otherwise) const {
  const auto found = text_parameters.find(parameter);
  return found == text_parameters.end() ? otherwise : found->second;
}

std::vector<Tool> tools_from(const SortedJson& list) {
  std::vector<Tool> tools;
  if (!list.is_array()) return tools;
  for (const SortedJson& entry : list) {
    const SortedJson* inner = member(entry, "function");
    const SortedJson& function = inner != nullptr ? *inner : entry;
    const SortedJson* name = member(function, "name");
    if (name == nullptr || !name->is_string()) continue;
    Tool tool{name->get<std::string>(), {}};
    const SortedJson* parameters = member(function, "parameters");
    const SortedJson* properties = parameters != nullptr ? member(*parameters, "properties") : nullptr;
    if (properties != nullptr && properties->is_object()) {
      for (const auto& [key, schema] : properties->items()) tool.text_parameters.emplace(key, allows_text(schema));
    }
    tools.push_back(std::move(tool));
  }
  return tools;
}

}  // namespace skipstone::chat
