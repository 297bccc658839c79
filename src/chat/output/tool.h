// The tools of a request, as far as a parser of answers needs to know them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/json_fwd.h"

namespace skipstone::chat {

struct Tool {
  std::string name;
  std::shared_ptr<const SortedJson> parameters = {};  ///< the JSON Schema of its arguments; null: any

  /// Whether a bare value of this parameter is the text `text`: the schema allows that text, or allows other texts and not the value
  /// `json` that the text may also be read as. A parameter that the schema does not describe has no texts.
  bool is_text(std::string_view parameter, std::string_view text, std::string_view json) const;
};

/// The tools of OpenAI's list [{"type": "function", "function": {"name", "parameters"?}}]; objects without the outer level are taken too.
/// Entries without a name are ignored.
std::vector<Tool> tools_from(const SortedJson& list);

}  // namespace skipstone::chat
