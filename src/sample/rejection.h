// Rejection verification: drafts drawn from q are accepted so that what comes out is distributed as p, whatever q is.
// Leviathan et al., "Fast Inference from Transformers via Speculative Decoding", ICML 2023, section 2.3 and appendix A.1; Chen et al. 2023
// (arXiv 2302.01318); Draft & Verify's algorithm 4. The distributions are those after all filters (Sampler::distribution).
#pragma once

#include <cstdint>
#include <span>

#include "sample/sampler.h"

namespace skipstone::sample {

/// Which way a draft is verified when sampling. Greedy decoding knows no difference.
enum class Verification {
  coupled,    ///< accepted where it is the token that the model would have drawn: the text of plain decoding
  rejection,  ///< accepted with probability min(1, p/q): the distribution of plain decoding, not its text
};

/// Draws of its own for every (round, position): drafts, the acceptance of a draft, and what replaces it do not depend on each other.
/// Philox4x32-10, key = seed, counter = (position, round, round's high word, purpose); Sampler's Gumbel noise has 0 where the purpose is.
class RejectionSampler {
 public:
  explicit RejectionSampler(std::uint64_t seed) : seed_(seed) {}

  /// Call before a round's first draft or, without drafts, its verification.
  void next_round() { ++round_; }

  /// A token of `q`.
  Token draft(std::span<const double> q, std::uint64_t position) const;

  /// The token at `position`, distributed as `p`: `drafted` (drawn from `q`) with probability min(1, p/q), else one of
  /// norm(max(0, p - q)). Empty `q`: the draft was drawn from nothing, or there is none; a token of `p`, which is what the rule comes to
  /// where q is 1 at the draft and 0 at all other tokens.
  Token verify(std::span<const double> p, std::span<const double> q, Token drafted, std::uint64_t position) const;

 private:
  double unit(std::uint64_t position, std::uint32_t purpose) const;

  std::uint64_t seed_, round_ = 0;
};

/// Token t where `unit` in [0, 1) falls, the tokens' weights laid side by side in order; weights need not add up to 1. Throws internal
/// where they are all 0 or one is no number.
Token draw(std::span<const double> weights, double unit);

}  // namespace skipstone::sample
