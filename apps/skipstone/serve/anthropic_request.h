// Requests of Anthropic's Messages API.
#pragma once

#include <string_view>

#include "serve/generation_request.h"

namespace cli::serve::anthropic {

/// Reads what the Messages API has in a form of its own: messages, system, tools, thinking. The conversation becomes one of chat
/// completions; texts, inputs and schemas stay as they are written. `body`: valid JSON, an object. Throws ApiError (400) with the place of
/// what is wrong: "messages[2].content[0].tool_use_id".
void read_request(std::string_view body, GenerationRequest& request);

}  // namespace cli::serve::anthropic
