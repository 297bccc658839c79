// ASD: the skip set is made from the prompt itself, while it is read. No search, no training.
// Metel et al., "Draft on the Fly: Adaptive Self-Speculative Decoding using Cosine Similarity", 2024 (arXiv 2410.01028).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "exec/layer_plan.h"
#include "speculation/drafters/skip_layer_drafter.h"
#include "speculation/options.h"

namespace skipstone::speculation {

struct AsdParams {
  double c = 0.985;                                ///< average cosine from which an attention sublayer is skipped
  std::uint32_t n = 3;                             ///< every n-th attention and every n-th MLP sublayer is skipped
  std::uint32_t m = 2;                             ///< the last m attention and the last m MLP sublayers run
  bool cosine = true, rule1 = true, rule2 = true;  ///< the paper's ablation
  std::uint32_t refresh = 0;                       ///< tokens after which the cosines are measured anew, over the newest of them; 0: never
  SkipLayerDrafterParams drafts;
};

/// The paper's ADMG algorithm. `attention_cosine`: one per layer, in [-1, 1]; not looked at where `params.cosine` is off. NaN skips
/// nothing. Throws internal where the cosines are not one per layer.
exec::LayerPlan asd_plan(const AsdParams& params, std::span<const float> attention_cosine, std::uint32_t layers);

}  // namespace skipstone::speculation
