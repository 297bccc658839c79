// Skip sets as points of {0,1}^(2 layers): random ones and neighbours. A set is an exec::LayerPlan over all layers of the model.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_set>

#include "base/philox.h"
#include "exec/layer_plan.h"

namespace skipstone::speculation::search {

/// Random numbers of the search: the same for a seed everywhere, unlike those of <random>'s distributions.
class Random {
 public:
  explicit Random(std::uint64_t seed) : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {}

  /// In (0, 1).
  double unit() { return open_unit(philox({next_++, 0, 0, 0}, key_)[0]); }
  /// 0 to `count` - 1.
  std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>(unit() * count); }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint32_t next_ = 0;
};

/// Which of the 2 * layers sublayers: attention first, then MLP.
inline bool skips(const exec::LayerPlan& set, std::uint32_t sublayer, std::uint32_t layers) {
  return sublayer < layers ? set.skip_attention[sublayer] : set.skip_mlp[sublayer - layers];
}
inline void flip(exec::LayerPlan& set, std::uint32_t sublayer, std::uint32_t layers) {
  sublayer < layers ? set.skip_attention.flip(sublayer) : set.skip_mlp.flip(sublayer - layers);
}

/// The same sublayers as in `plan`, where those outside its range of layers count as skipped: "layers:0-9" of 20 is the set
/// "attn:10-19;mlp:10-19".
exec::LayerPlan as_set(const exec::LayerPlan& plan, std::uint32_t layers);

/// Every number of skipped attention sublayers from 0 to `layers` is as likely, every number of MLP ones too, and then every set of these
/// sizes. Never the empty set.
exec::LayerPlan random_set(std::uint32_t layers, Random& random);

/// One skipped and one running sublayer of the same kind change places; the same set where a kind has none of either.
exec::LayerPlan swapped(const exec::LayerPlan& set, std::uint32_t first, std::uint32_t last, Random& random);

/// Each sublayer from one parent or the other.
exec::LayerPlan crossed(const exec::LayerPlan& a, const exec::LayerPlan& b, std::uint32_t layers, Random& random);

struct SetHash {
  std::size_t operator()(const exec::LayerPlan& set) const noexcept {
    return std::hash<std::bitset<exec::LayerPlan::max_layers>>()(set.skip_attention) * 0x9e3779b97f4a7c15u ^
           std::hash<std::bitset<exec::LayerPlan::max_layers>>()(set.skip_mlp);
  }
};

using KnownSets = std::unordered_set<exec::LayerPlan, SetHash>;

inline bool is_empty(const exec::LayerPlan& set) { return set.skip_attention.none() && set.skip_mlp.none(); }

/// A random set that is not known yet; nothing where a small space seems to be used up.
std::optional<exec::LayerPlan> new_random_set(std::uint32_t layers, const KnownSets& known, Random& random);

}  // namespace skipstone::speculation::search
