// The candidates of N-Grammys: rows of w tokens from the text's n-grams and from the model's own bigrams, and the tree that they make.
// Stewart et al., "The N-Grammys: Accelerating Autoregressive Inference with Learning-Free Batched Speculation", 2024 (arXiv 2411.03786).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "speculation/bigrams.h"
#include "speculation/text_index.h"
#include "speculation/token_tree.h"

namespace skipstone::speculation {

enum class NgramStrategy : std::uint8_t {
  context,  ///< tokens that followed the text's last q tokens earlier in it
  bigram,   ///< the model's likeliest tokens after the last one, each continued by the likeliest bigram again and again
  unigram,  ///< the tokens that are likely anywhere, continued likewise
};
inline constexpr std::uint32_t ngram_strategies = 3;
const char* to_string(NgramStrategy strategy);

struct NgramRow {
  NgramStrategy strategy = NgramStrategy::context;
  std::uint32_t rank = 0;  ///< among the rows of its strategy, from 0
  std::vector<Token> tokens;
  bool operator==(const NgramRow&) const = default;
};

struct NgramShape {
  std::uint32_t rows = 10;   ///< k
  std::uint32_t width = 10;  ///< w
  std::uint32_t query = 1;   ///< q
};

/// Continuations of the earlier occurrences of the text's last `query` tokens: up to `width` tokens, fewer where the text ends before.
/// Different ones by how often they occurred, ties to the latest; at most `rows`.
std::vector<NgramRow> context_rows(const Occurrences& text, const NgramShape& shape);

/// Rows that begin with each of `first` in turn (up to a -1), each continued by the likeliest bigram up to `width` tokens.
std::vector<NgramRow> extended_rows(NgramStrategy strategy, std::span<const Token> first, const Bigrams& bigrams, const NgramShape& shape);

/// Adds of `more`, in order, rows whose tokens are not there yet, while there are fewer than `most` rows.
void fill_up(std::vector<NgramRow>& rows, std::span<const NgramRow> more, std::uint32_t most);

/// The rows after `pending` as a tree in which equal prefixes share nodes, of at most `most_drafts` drafts. Where there are more, the
/// nodes that are worth most stay: node i of row r (both from 0) is worth 0.75^i / (r + 1), a node of several rows what it is worth in all
/// of them. So a node's parent is worth more than the node, and stays with it. The most valuable come first, so that a truncated tree
/// is the best one of its size.
TokenTree best_tree(Token pending, std::span<const NgramRow> rows, std::uint32_t most_drafts);

}  // namespace skipstone::speculation
