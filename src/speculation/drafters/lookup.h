// Prompt lookup: the text itself is searched for its last tokens, and their continuation there is the draft.
// Saxena, "Prompt Lookup Decoding", 2023 (github.com/apoorvumang/prompt-lookup-decoding).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "speculation/drafter.h"
#include "speculation/occurrences.h"
#include "speculation/options.h"

namespace skipstone::speculation {

struct LookupParams {
  std::uint32_t max = 3, min = 1;  ///< tokens that have to match: the most are tried first
  std::uint32_t drafts = 10;
};

struct LookupResult {
  std::vector<Token> drafts;
  std::uint32_t match = 0;  ///< tokens
};

/// The continuation of the latest of the longest earlier matches of the text's end; empty where none is `min` tokens long. Where the match
/// is so near that the text ends before there are enough drafts, they keep repeating themselves, as LZ77 copies.
LookupResult lookup(const Occurrences& text, const LookupParams& params);

}  // namespace skipstone::speculation
