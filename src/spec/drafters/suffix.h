// The longest end of the text that stood in it before, or in the user's corpus, and how the text went on behind it: a tree by frequency.
// Oliaro et al., "SuffixDecoding", 2024 (arXiv 2411.04975); Hu et al., "SAM Decoding", 2024 (arXiv 2411.10666); He et al., "REST",
// NAACL 2024 (arXiv 2311.08252) for the corpus.
#pragma once

#include <cstdint>
#include <memory>

#include "spec/drafter.h"
#include "spec/options.h"

namespace skipstone::spec {

struct SuffixParams {
  std::uint32_t drafts = 16;
  std::uint32_t min = 1;       ///< tokens that have to match
  double alpha = 1.0;          ///< the tree is at most alpha times as deep as the match is long
  double share = 0.1;          ///< see ContinuationLimits
  std::uint32_t samples = 64;  ///< occurrences that are looked at
};

std::unique_ptr<Drafter> make_suffix(Options& options);

}  // namespace skipstone::spec
