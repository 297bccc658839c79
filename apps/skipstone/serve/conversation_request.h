// The conversation of a request, its tools and the variables of its template, as the model's template is to get them.
#pragma once

#include <string_view>

#include "json/json_fwd.h"
#include "serve/generation_request.h"

namespace cli::serve {

// `text`: the body as it is written, of which the parts for the template keep their order and their digits; `request` has its fields
// already. These throw ApiError (400).

void read_chat(const skipstone::SortedJson& body, std::string_view text, GenerationRequest& request);
void read_responses(const skipstone::SortedJson& body, std::string_view text, GenerationRequest& request);

}  // namespace cli::serve
