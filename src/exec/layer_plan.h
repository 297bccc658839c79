// Which sublayers a pass runs, how many experts its rows take, and which keys they attend to. Full, layer-skipped, early-exit, late-only
// and windowed passes differ in nothing else.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>

namespace skipstone::exec {

/// Layers are counted from 0. A skipped sublayer leaves the residual stream as it is and writes no K or V.
struct LayerPlan {
  static constexpr std::uint32_t max_layers = 256;

  std::bitset<max_layers> skip_attention, skip_mlp;
  std::uint32_t begin = 0;  ///< first layer that runs
  std::uint32_t end = 0;    ///< one past the last layer that runs
  /// Experts of a row in each layer that has more, the best of its choice; 0: all that the model takes.
  std::uint32_t experts = 0;

  /// Every sublayer of `layers` layers.
  static LayerPlan full(std::uint32_t layers);

  /// Reads "attn:3,5-7;mlp:9" (skipped sublayers), "layers:0-7" (what runs; the rest is outside the pass) and "experts:2", in any order, ""
  /// or "full" for all of them. Throws invalid_argument naming the part that is wrong or the layer that does not exist.
  static LayerPlan parse(std::string_view text, std::uint32_t layers);

  /// The same notation, shortest form; "full" where nothing is skipped. parse(print()) gives an equal plan.
  std::string print(std::uint32_t layers) const;

  bool runs_attention(std::uint32_t layer) const { return layer >= begin && layer < end && !skip_attention[layer]; }
  bool runs_mlp(std::uint32_t layer) const { return layer >= begin && layer < end && !skip_mlp[layer]; }
  /// Number of leading layers that run in full: up to there the pass computes what the full model does. With fewer experts none, since a
  /// plan does not know which layers have any.
  std::uint32_t whole_prefix() const;
  std::uint32_t skipped_sublayers(std::uint32_t layers) const;  ///< of 2 * layers
  bool operator==(const LayerPlan&) const = default;
};

/// The experts that passes have read: sums over layers with experts.
struct ExpertUse {
  std::uint64_t layers = 0;    ///< of all passes
  std::uint64_t distinct = 0;  ///< experts that these layers read
  std::uint64_t choices = 0;   ///< of their rows: as many as `distinct` if no two rows chose the same

  ExpertUse& operator+=(const ExpertUse& more) {
    layers += more.layers, distinct += more.distinct, choices += more.choices;
    return *this;
  }
  ExpertUse operator-(const ExpertUse& before) const {
    return {layers - before.layers, distinct - before.distinct, choices - before.choices};
  }
};

/// A row attends to the first `sink` positions of the text and the last `recent` ones, itself among these (attention sinks: Xiao et al.,
/// arXiv 2309.17453). Keys keep the rotations of their positions. recent >= 1.
struct KeyWindow {
  std::uint32_t sink = 0, recent = 1;
  /// How many keys a row at `position` attends to.
  std::uint32_t keys(std::uint32_t position) const { return std::min(position + 1, sink + recent); }
  bool operator==(const KeyWindow&) const = default;
};

}  // namespace skipstone::exec
