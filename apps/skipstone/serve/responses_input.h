// The conversation of a request to /v1/responses, in the form of chat completions. Texts keep the order of their keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/json_fwd.h"

namespace cli::serve {

/// The messages of 'input': the items of a turn (reasoning, text, calls) are one message of the assistant. `written`: the JSON text of
/// `input`; `instructions`: a JSON string, or "". Throws ApiError (400) with the item's place for what cannot be taken.
std::string messages_of_input(const skipstone::SortedJson& input, std::string_view written, std::string_view instructions);

/// The functions among 'tools', as a list. Tools of other types run at their vendor: each type is a note. Throws ApiError (400).
std::string functions_of_tools(const skipstone::SortedJson& tools, std::string_view written, std::vector<std::string>& notes);

}  // namespace cli::serve
