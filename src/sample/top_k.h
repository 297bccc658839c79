// The likeliest tokens of a row of logits.
#pragma once

#include <cstdint>
#include <span>

#include "sample/sampler.h"

namespace skipstone::sample {

/// The out.size() tokens with the largest logits, the largest first, ties to the lower id; -1 where there are no more numbers (NaN is
/// none). One pass over the row: little more than reading it.
void top_k(std::span<const float> logits, std::span<Token> out);

}  // namespace skipstone::sample
