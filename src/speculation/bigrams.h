// What a model finds likely without a text: its tokens after every token, and its tokens anywhere. Stewart et al., "The N-Grammys", 2024
// (arXiv 2411.03786), section 3; Oyama et al., "Norm of Word Embedding Encodes Information Gain", EMNLP 2023 (arXiv 2212.09663), for why
// embeddings show the latter.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sample/sampler.h"

namespace skipstone::speculation {

using sample::Token;

/// For each token of the vocabulary the `width` likeliest next ones in a text that consists of it alone. Immutable; safe to use from many
/// threads.
class Bigrams {
 public:
  static constexpr std::uint32_t most_width = 25;  ///< the largest k of the paper's sweep

  /// `next`: [tokens][width], of the first tokens or all, the likeliest first; -1 where there are fewer. Throws internal where the
  /// sizes do not agree.
  Bigrams(std::uint32_t width, std::vector<Token> next);

  std::uint32_t width() const { return width_; }
  /// Number of tokens that have a row.
  std::uint32_t vocabulary() const { return static_cast<std::uint32_t>(next_.size() / width_); }
  std::span<const Token> all() const { return next_; }
  /// The likeliest tokens after `token`; empty where the table has no row for it.
  std::span<const Token> after(Token token) const;

 private:
  std::uint32_t width_;
  std::vector<Token> next_;
};

/// The embeddings of the tokens first, first + 1, ...: count * width floats, which have to stay until the next call.
using EmbeddingReader = std::function<std::span<const float>(std::uint32_t first, std::uint32_t count)>;

/// The `count` tokens x with the smallest d(x) = ||u_x - mean(u)|| in the norm of the embeddings' covariance C, ||v||^2 = v' C v; the
/// smallest, hence likeliest, first, ties to the lower id. Reads all embeddings three times, at most 256 at once, and takes
/// 2 * vocabulary * width^2 multiplications and width^2 floats. `progress` gets 0..1.
std::vector<sample::Token> unigram_ranking(std::uint32_t vocabulary, std::uint32_t width, std::uint32_t count, const EmbeddingReader& read,
                                           const std::function<void(double)>& progress);

}  // namespace skipstone::speculation
