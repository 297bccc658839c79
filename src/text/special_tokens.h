// Tokens that a text may write out: how they are found in it, their flags, and which of them end a generation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/poll.h"
#include "text/tokenizer.h"

namespace skipstone::gguf {
class File;
}

namespace skipstone::text {

/// Finds tokens that are written out in a text: leftmost first, the longest of those that start at the same place. A trie over the written
/// forms; immutable once filled.
class SpecialTokens {
 public:
  SpecialTokens() { roots_.fill(0); }

  /// Adds a token; empty ones are ignored, and of two written alike the first counts.
  void add(std::string_view written, Token token);

  struct Match {
    std::size_t begin = std::string_view::npos;  ///< npos: none
    std::size_t size = 0;
    Token token = -1;
  };

  /// The first match in `text` at or after `from`.
  Match find(std::string_view text, std::size_t from) const {
    return find(text, from, [](const Match&) { return true; });
  }

  /// The same among the matches that `accept(match)` is true for.
  template <typename Accept>
  Match find(std::string_view text, std::size_t from, Accept&& accept) const {
    Poll* const asking = Poll::current();
    for (std::size_t begin = from; begin < text.size(); ++begin) {
      Match best;
      std::uint32_t node = roots_[static_cast<unsigned char>(text[begin])];
      if (asking != nullptr && (node != 0 || begin % 4096 == 0)) asking->work(node != 0 ? 1 : 64);
      for (std::size_t size = 1; node != 0; ++size) {
        if (ends_[node] >= 0) {
          const Match match{begin, size, ends_[node]};
          if (accept(match)) best = match;
        }
        if (begin + size == text.size()) break;
        if (asking != nullptr) asking->work(1);
        node = child(node, static_cast<unsigned char>(text[begin + size]));
      }
      if (best.token >= 0) return best;
    }
    return {};
  }

 private:
  std::uint32_t child(std::uint32_t node, unsigned char byte) const;

  std::array<std::uint32_t, 256> roots_;                    // the first byte decides almost everywhere
  std::unordered_map<std::uint64_t, std::uint32_t> edges_;  // node * 256 + byte
  std::vector<Token> ends_{-1};                             // by node; node 0 is none
};

/// Whether a token looks like a format's marker ("<think>", "[INST]"), unlike runs of spaces or words.
bool is_marker(std::string_view written);

// ---- flags of added tokens ----

// How added tokens are looked for in a text: the flags that tokenizer.json gives them. GGUF has no keys for these, so files that this
// project converts have their own keys, which other readers ignore.

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

// ---- tokens at which a generation ends ----

// GGUF files name one to three of them; the others are recognised by their text.

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
