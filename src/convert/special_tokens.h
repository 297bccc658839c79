// A tokenizer's special tokens according to the files next to it.
#pragma once

#include <string>

#include "convert/source_tokenizer.h"
#include "json/json_fwd.h"
#include "model/architecture.h"

namespace skipstone::convert {

/// Adds the tokens of added_tokens.json and of tokenizer_config.json's added_tokens_decoder.
void add_extra_tokens(const std::string& folder, const SortedJson& tokenizer_config, TokenList& tokens);

/// Ids of BOS, EOS, EOT, unknown and padding: by name from tokenizer_config.json or special_tokens_map.json, else the ids of config.json or
/// generation_config.json, else those the tokenizer has itself. `eot` and `eom` are named, or are ids of a list of EOS that no reader would
/// recognise by its text; `more_ends` are those of the list that no key is left for.
struct SpecialTokens {
  text::Token bos = -1, eos = -1, eot = -1, eom = -1, unknown = -1, padding = -1;
  std::vector<text::Token> more_ends;
};
SpecialTokens find_special_tokens(const std::string& folder, const SortedJson& tokenizer_config, const model::TokenizerFacts& facts,
                                  SourceTokenizer& source);

}  // namespace skipstone::convert
