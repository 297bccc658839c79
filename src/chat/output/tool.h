// The tools of a request, as far as a parser of answers needs to know them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "json/json_fwd.h"

namespace skipstone::chat {

struct Tool {
  std::string name;
  std::map<std::string, bool, std::less<>> text_parameters;  ///< every parameter of the schema: whether its values are text

  /// Whether a bare value of this parameter is text whatever it looks like. `otherwise`: the result for parameters without a schema.
  bool is_text(std::string_view parameter, bool otherwise) const;
};

/// The tools of OpenAI's list [{"type": "function", "function": {"name", "parameters"?}}]; objects without the outer level are taken too.
/// Entries without a name are ignored.
std::vector<Tool> tools_from(const SortedJson& list);

}  // namespace skipstone::chat
