// What a request wants the answer's text to fit: OpenAI's formats, and llama.cpp's `grammar` and `json_schema`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "json/json_fwd.h"
#include "skipstone/grammar.hpp"

namespace cli::serve {

struct TextFormat {
  std::string key;  ///< equal ones mean equal grammars
  skipstone::Grammar grammar;
};

/// `format`: {"type": "text", "json_object" or "json_schema"}, the schema with its name and flags in the object itself or in its
/// "json_schema". Nothing for texts of any form. Throws ApiError (400) naming `field`.
std::optional<TextFormat> read_text_format(std::string_view field, const skipstone::SortedJson& format);

/// Of a JSON Schema, or a text in GBNF. Throws ApiError (400) naming `field`.
TextFormat json_schema_format(std::string_view field, const skipstone::SortedJson& schema);
TextFormat gbnf_format(std::string_view field, const std::string& grammar);

/// The grammar of whole answers with a text of `format`, for a prompt that ends with `prompt_end`.
skipstone::Grammar answer_grammar(const TextFormat& format, const skipstone::Chat& chat, const std::string& prompt_end);

}  // namespace cli::serve
