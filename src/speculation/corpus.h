// A static index of texts that drafts are looked up in: all suffixes in order, made in linear time. He et al., "REST: Retrieval-Based
// Speculative Decoding", NAACL 2024 (arXiv 2311.08252).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sample/sampler.h"

namespace skipstone::speculation {

using sample::Token;

/// A suffix array over all texts: 8 bytes a token. Immutable; safe to use from many threads.
class Corpus {
 public:
  struct Match {
    std::uint32_t length = 0;          ///< tokens
    std::uint32_t begin = 0, end = 0;  ///< of the suffixes that start with it
    std::uint32_t count() const { return end - begin; }
  };

  /// `tokens`: the texts, with a -1 between each two. No match reaches over one.
  explicit Corpus(std::vector<Token> tokens);

  std::span<const Token> tokens() const { return tokens_; }
  std::uint64_t bytes() const { return tokens_.capacity() * sizeof(Token) + sorted_.capacity() * sizeof(std::uint32_t); }

  /// The longest suffix of `text`, of at most `most` tokens, that occurs in the corpus, and how often. Length 0 where not even the last
  /// token does.
  Match longest_match(std::span<const Token> text, std::uint32_t most) const;

  /// Where the texts continue after the occurrences of a match: at most `most` of them, evenly from all. Since they are sorted by what
  /// follows, no continuation with more than a share of 1 / most is missed.
  std::vector<std::uint32_t> continuations(const Match& match, std::uint32_t most) const;

 private:
  Match find(std::span<const Token> phrase) const;

  std::vector<Token> tokens_;
  std::vector<std::uint32_t> sorted_;
};

/// The starts of the suffixes of `text`, in lexicographic order of the suffixes (a prefix of another one comes first). Tokens are -1 or
/// more; at most 2^31 - 2 of them.
std::vector<std::uint32_t> suffix_array(std::span<const sample::Token> text);

}  // namespace skipstone::speculation
