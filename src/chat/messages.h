// Conversations as JSON in OpenAI's form, checked and brought into the shape that templates expect.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/jinja/value.h"

namespace skipstone::chat {

/// A conversation that templates may see. Roles are the template's own words (they are checked); everything else is data.
struct Conversation {
  std::vector<jinja::Value> messages;  ///< dicts: arguments of calls are objects, calls and results have ids, results their tool's name
  jinja::Value tools;                  ///< a list; undefined where there are none
  std::vector<jinja::Dict::Item> variables;  ///< the options that the library does not handle itself
  bool add_generation_prompt = true;
  bool continue_final_message = false;
  bool without_reasoning = false;  ///< the options ask for an answer without it
  std::optional<std::tm> now;
  std::size_t bytes = 0;  ///< of the JSON
};

/// `tools` and `options` may be empty. Throws invalid_argument with the place: "messages[2].tool_call_id: ...".
Conversation read_conversation(std::string_view messages, std::string_view tools, std::string_view options);

/// The value of a key; null for an absent or null one.
const jinja::Value* member(const jinja::Value& object, std::string_view key);
/// A copy of a dict in which `key` is `value`, or is not there (null).
jinja::Value with_member(const jinja::Value& object, std::string_view key, const jinja::Value* value);
jinja::Value trusted_text(std::string_view text);
jinja::Value list_of(std::vector<jinja::Value> items);
/// {"type": "text", "text": text}.
jinja::Value text_part(const jinja::Value& text);

}  // namespace skipstone::chat
