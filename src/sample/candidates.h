// The tokens of a row of logits that sampling has to look at: a device's summary of the row in place of all of it, and the likeliest ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sample/sampler.h"

namespace skipstone::sample {

/// A token and its logit as the model gave it.
struct Candidate {
  Token token = -1;
  float logit = 0;
};

/// Of one row. Logits are exact; sums of exponentials are floats of a device, as good as its exp().
struct Candidates {
  std::span<const Candidate> likely;  ///< in no order; every other token's logit is below `likely_bound` (-infinity: no other is a number)
  std::span<const Candidate> noisy;   ///< the same by logit / temperature + noise, and `noisy_bound`; empty where not requested
  std::span<const Candidate> listed;  ///< tokens whose logits biases and penalties change, in ascending order; at least all that may rise
  float likely_bound = 0, noisy_bound = 0;
  float rest = 0;      ///< sum of exp(logit - largest logit) over what is not `likely`
  float tempered = 0;  ///< the same at the temperature, where top-p asked for it
};

/// Data to request from the device, since Sampler::choose() may need it of a row.
struct CandidateRequest {
  bool noise = false;     ///< candidates by noise: there may be no filter that keeps only likely tokens
  bool tempered = false;  ///< the sum at the temperature
};

/// Nothing where the filters' choice can not be told from candidates: a caller's rule, a mask of tokens, log-probabilities, or top-k above
/// `most`.
std::optional<CandidateRequest> request_for(const SamplerParams& params, std::uint32_t most, std::size_t vocabulary);

/// The out.size() tokens with the largest logits, the largest first, ties to the lower id; -1 where there are no more numbers (NaN is
/// none). One pass over the row: little more than reading it.
void top_k(std::span<const float> logits, std::span<Token> out);

}  // namespace skipstone::sample
