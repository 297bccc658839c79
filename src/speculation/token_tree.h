// The candidates of a round as a tree, so that drafts with a common prefix share its rows (Miao et al., "SpecInfer", ASPLOS 2024, arXiv
// 2305.09781, section 4: token tree verification), and the tree of a text's continuations (Oliaro et al., "SuffixDecoding", 2024, arXiv
// 2411.04975, section 4; He et al., "REST", arXiv 2311.08252, section 3.2).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sample/sampler.h"

namespace skipstone::speculation {

using sample::Token;

/// Row 0 is the pending token, every other row a draft that follows its parent. Parents come before their children; no two children of a
/// row are the same token.
class TokenTree {
 public:
  TokenTree() : TokenTree(-1) {}
  explicit TokenTree(Token pending) : tokens_{pending}, parents_{0}, depths_{0} {}
  static TokenTree chain(Token pending, std::span<const Token> drafts);

  void set_pending(Token token) { tokens_[0] = token; }
  /// The row of `token` after row `parent`: the one that is there already, or a new one.
  std::uint32_t add(std::uint32_t parent, Token token);
  /// Adds `path` after row `from` for as long as there are at most `most_rows` rows; returns the last row reached.
  std::uint32_t add_path(std::uint32_t from, std::span<const Token> path, std::uint32_t most_rows);

  std::uint32_t rows() const { return static_cast<std::uint32_t>(tokens_.size()); }
  std::uint32_t drafts() const { return rows() - 1; }
  bool is_chain() const { return depths_.back() == drafts(); }
  std::uint32_t height() const;  ///< the largest depth
  std::span<const Token> tokens() const { return tokens_; }
  std::span<const std::uint32_t> parents() const { return parents_; }  ///< of row 0: 0
  std::span<const std::uint32_t> depths() const { return depths_; }    ///< of row 0: 0
  std::optional<std::uint32_t> child(std::uint32_t row, Token token) const;

  /// The part that may be verified: no token below 0, nothing after a token that ends the text, no depth above `most_depth`, and of the
  /// rest, in order, `most_rows` rows. Row 0 stays.
  TokenTree pruned(std::uint32_t most_rows, std::uint32_t most_depth, const std::function<bool(Token)>& ends) const;

 private:
  std::vector<Token> tokens_;
  std::vector<std::uint32_t> parents_, depths_;
};

struct ContinuationLimits {
  std::uint32_t drafts = 16;  ///< rows of the tree without row 0
  std::uint32_t depth = 16;
  double share = 0.1;  ///< a draft that a smaller share of the continuations reaches is left out
};

enum class TextEnd {
  stops,   ///< a continuation ends where the text does, or at a token below 0
  repeats  ///< past the text's end a continuation repeats itself: in a loop the loop continues
};

/// The tree of continuations in `text` from each of `places` on (all below text.size()). A draft's weight is the number of continuations
/// that start with the path to it; the heaviest come first, among equals the shallowest, then the one whose place is named first.
TokenTree continuation_tree(std::span<const Token> text, std::span<const std::uint32_t> places, TextEnd end,
                            const ContinuationLimits& limits);

}  // namespace skipstone::speculation
