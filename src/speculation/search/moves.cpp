#include "speculation/search/moves.h"

#include <vector>

namespace skipstone::speculation::search {
namespace {

using Bits = std::bitset<exec::LayerPlan::max_layers>;

/// `count` of the layers, each set of that size as likely.
Bits choose(std::uint32_t layers, std::uint32_t count, Random& random) {
  Bits bits;
  for (std::uint32_t layer = 0; layer < layers && count > 0; ++layer) {
    if (random.below(layers - layer) >= count) continue;
    bits.set(layer);
    --count;
  }
  return bits;
}

}  // namespace

exec::LayerPlan as_set(const exec::LayerPlan& plan, std::uint32_t layers) {
  exec::LayerPlan set = exec::LayerPlan::full(layers);
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    set.skip_attention[layer] = !plan.runs_attention(layer);
    set.skip_mlp[layer] = !plan.runs_mlp(layer);
  }
  return set;
}

exec::LayerPlan random_set(std::uint32_t layers, Random& random) {
  exec::LayerPlan set = exec::LayerPlan::full(layers);
  while (set.skip_attention.none() && set.skip_mlp.none()) {
    set.skip_attention = choose(layers, random.below(layers + 1), random);
    set.skip_mlp = choose(layers, random.below(layers + 1), random);
  }
  return set;
}

exec::LayerPlan swapped(const exec::LayerPlan& set, std::uint32_t first, std::uint32_t last, Random& random) {
  const auto candidates = [&](const Bits& bits, bool skipped) {
    std::vector<std::uint32_t> found;
    for (std::uint32_t layer = first; layer < last; ++layer) {
      if (bits[layer] == skipped) found.push_back(layer);
    }
    return found;
  };
  exec::LayerPlan result = set;
  const bool attention_first = random.unit() < 0.5;
  for (const bool attention : {attention_first, !attention_first}) {
    Bits& bits = attention ? result.skip_attention : result.skip_mlp;
    const std::vector<std::uint32_t> in = candidates(bits, true), out = candidates(bits, false);
    if (in.empty() || out.empty()) continue;
    bits.reset(in[random.below(static_cast<std::uint32_t>(in.size()))]);
    bits.set(out[random.below(static_cast<std::uint32_t>(out.size()))]);
    return result;
  }
  return result;
}

exec::LayerPlan crossed(const exec::LayerPlan& a, const exec::LayerPlan& b, std::uint32_t layers, Random& random) {
  exec::LayerPlan child = a;
  for (std::uint32_t sublayer = 0; sublayer < 2 * layers; ++sublayer) {
    if (skips(a, sublayer, layers) != skips(b, sublayer, layers) && random.unit() < 0.5) flip(child, sublayer, layers);
  }
  return child;
}

std::optional<exec::LayerPlan> new_random_set(std::uint32_t layers, const KnownSets& known, Random& random) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    exec::LayerPlan set = random_set(layers, random);
    if (!known.contains(set)) return set;
  }
  return std::nullopt;
}

}  // namespace skipstone::speculation::search
