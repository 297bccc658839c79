// The choice of experts in scalar code.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/layer_config.h"

namespace skipstone::ref {

struct ChosenExpert {
  std::uint32_t expert = 0;
  float weight = 0.0f;
  bool operator==(const ChosenExpert&) const = default;
};

/// The experts of a row, the best first. `logits`: of the router, one for each expert; `correction`: the bias for the choice, empty for
/// none. Of equal scores the lower index is better, and NaN is worst.
std::vector<ChosenExpert> choose_experts(const model::Experts& experts, std::span<const float> logits, std::span<const float> correction);

}  // namespace skipstone::ref
