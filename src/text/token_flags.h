// How added tokens are looked for in a text: the flags that tokenizer.json gives them. GGUF has no keys for these, so files that this
// project converts have its own keys, which other readers ignore.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "text/tokenizer.h"

namespace skipstone::gguf {
class File;
}

namespace skipstone::text {

/// Keys of arrays of ids, one for each flag.
struct TokenFlagKey {
  std::string_view key;
  bool TokenFlags::*flag;
};
inline constexpr TokenFlagKey token_flag_keys[] = {{"skipstone.strip_left_token_ids", &TokenFlags::strip_left},
                                                   {"skipstone.strip_right_token_ids", &TokenFlags::strip_right},
                                                   {"skipstone.single_word_token_ids", &TokenFlags::single_word}};

/// Fills `flags` of a vocabulary whose tokens and types are set: from those keys, or for a file without any of them from llama.cpp's
/// table of a few models by name. Throws bad_file for ids that do not exist.
void read_token_flags(const gguf::File& file, Vocabulary& vocabulary);

/// Whether the token at [begin, end) of `text` may be there: one of single words needs a place without word characters on both sides.
bool may_stand(const TokenFlags& flags, std::string_view text, std::size_t begin, std::size_t end);

/// The place of that token together with the white space that it takes, none of it in front of `from`: begin and end.
std::pair<std::size_t, std::size_t> with_spaces_taken(const TokenFlags& flags, std::string_view text, std::size_t from, std::size_t begin,
                                                      std::size_t end);

}  // namespace skipstone::text
