// N-Grammys: candidates from the text's n-grams and from the model's own bigrams, many at once. No pass of its own.
// Stewart et al., 2024 (arXiv 2411.03786), section 4.
#pragma once

#include <memory>

#include "speculation/drafter.h"
#include "speculation/ngram_rows.h"
#include "speculation/options.h"

namespace skipstone::speculation {

struct NgramParams {
  NgramShape shape;
  bool context = true, bigram = true, unigram = false;  ///< the strategies, in the order in which they fill the rows
  bool block = false;                                   ///< the paper's block of rows that share nothing, instead of a tree
};

/// The rows of one round: the strategies one after the other, until there are `shape.rows`. `bigrams` may be null where neither bigrams nor
/// unigrams are wanted. `unigrams`: the likeliest first.
std::vector<NgramRow> ngram_rows(const NgramParams& params, const Occurrences& text, const Bigrams* bigrams,
                                 std::span<const Token> unigrams);

}  // namespace skipstone::speculation
