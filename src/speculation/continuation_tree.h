// Several continuations of a text as one tree of drafts, the most frequent ones first.
// Oliaro et al., "SuffixDecoding", 2024 (arXiv 2411.04975), section 4; He et al., "REST" (arXiv 2311.08252), section 3.2.
#pragma once

#include <cstdint>
#include <span>

#include "speculation/token_tree.h"

namespace skipstone::speculation {

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
