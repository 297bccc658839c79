// Lookahead decoding: Jacobi iterations over a window ahead of the text run in the same pass as the verification; the n-grams that they
// come to are kept, and those that start with the last token are the candidates. Fu et al., "Break the Sequential Dependency of LLM
// Inference Using Lookahead Decoding", ICML 2024 (arXiv 2402.02057).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "speculation/drafter.h"
#include "speculation/options.h"

namespace skipstone::speculation {

struct LookaheadParams {
  std::uint32_t window = 4;      ///< W: columns ahead of the text
  std::uint32_t ngram = 3;       ///< N: tokens of an n-gram; a column has made N - 1 of them, and a round makes the last
  std::uint32_t candidates = 3;  ///< G: n-grams verified in a round
  bool prompt = true;            ///< n-grams of the text itself are kept as well

  /// Rows besides row 0 where no two paths share any.
  std::uint32_t drafts() const { return window - 1 + window * (ngram - 2) + candidates * (ngram - 1); }
};

/// For each token the n-grams that start with it, the latest first.
class NgramPool {
 public:
  explicit NgramPool(std::uint32_t most) : most_(most) {}
  /// Keeps `ngram`, of two tokens or more; the least recently seen one of its first token is dropped where there are too many.
  void add(std::span<const Token> ngram);
  /// Continuations of `token`: at most `most`.
  const std::vector<std::vector<Token>>& after(Token token) const;

 private:
  std::uint32_t most_;
  std::unordered_map<Token, std::vector<std::vector<Token>>> by_first_;
};

/// The window: W columns of N - 1 tokens. Level 0 of all columns is a chain after the last token, which is level 0 of column 0; the other
/// levels of column i are a branch after its level 0. So a column's end has seen its own tokens and level 0 up to itself, which is the
/// paper's attention mask as a tree.
class LookaheadWindow {
 public:
  explicit LookaheadWindow(const LookaheadParams& params) : params_(params) {}

  /// Fills what is missing with tokens of `history`, and column 0 with its last.
  void fill(std::span<const Token> history);
  /// Adds the columns to `tree`.
  void add_to(TokenTree& tree) const;
  /// The n-grams of columns that a round has completed, in `ngrams`. The columns then move on by the tokens that the round emitted, and
  /// drop their level 0.
  void advance(const RoundResult& result, std::vector<std::vector<Token>>& ngrams);
  void clear() { columns_.clear(); }

 private:
  LookaheadParams params_;
  std::vector<std::vector<Token>> columns_;  ///< W of N - 1 tokens; -1: to be filled
};

}  // namespace skipstone::speculation
