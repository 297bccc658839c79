// Tokens at which a generation ends. GGUF files name one to three of them; the others are recognised by their text.
#pragma once

#include <string_view>

#include "text/tokenizer.h"

namespace skipstone::gguf {
class File;
}

namespace skipstone::text {

/// The key of further ids, an array; this project's own, for files whose model has more such tokens than GGUF has keys.
inline constexpr std::string_view end_tokens_key = "skipstone.end_token_ids";

/// Whether every reader treats a token of that text and type as the end of a text or turn, whatever else a file says.
bool is_end_name(std::string_view written, TokenType type);

/// Fills `end_of_generation` from the ids and the names of `vocabulary`, and `more`. Unambiguous end tokens that a file calls normal
/// become control tokens, so that no text spells them. Every id is in the vocabulary.
void collect_end_tokens(Vocabulary& vocabulary, const std::vector<Token>& more);

/// The ids under end_tokens_key; throws bad_file for ones that are not in a vocabulary of `size`.
std::vector<Token> listed_end_tokens(const gguf::File& file, std::size_t size);

}  // namespace skipstone::text
