// A model's bigram table: its likeliest tokens after every token. Stewart et al., "The N-Grammys", 2024 (arXiv 2411.03786), section 3.
#pragma once

#include <cstdint>
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

}  // namespace skipstone::speculation
