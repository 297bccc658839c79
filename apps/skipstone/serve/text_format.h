// What a request wants the answer's text to fit: OpenAI's formats, and llama.cpp's `grammar` and `json_schema`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "skipstone/grammar.hpp"

namespace cli::serve {

enum class Form;  // generation_request.h

/// Not compiled yet, which may take a while.
struct TextFormat {
  std::string field;  ///< of the request
  skipstone_grammar_kind kind = SKIPSTONE_GRAMMAR_JSON_OBJECT;
  std::string text;  ///< a schema as it is written, or GBNF
};

/// Of a request's body: `response_format` of chats, `text.format` of responses, and llama.cpp's `json_schema` and `grammar` of chats and
/// completions. A format is {"type": "text", "json_object" or "json_schema"}, its schema with name and flags in the object itself or in its
/// "json_schema"; members of objects are written in the order of the schema's text. Nothing for texts of any form. Throws ApiError (400)
/// that names the field, also for two formats.
std::optional<TextFormat> read_format(Form form, std::string_view body);

/// Of an earlier request with the same text, or made now. Throws ApiError (400) for what is no grammar and for what is not enforced.
skipstone::Grammar make_grammar(const TextFormat& format);

}  // namespace cli::serve
