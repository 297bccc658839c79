// Attention over a part of the text: its prefix and its end.
#pragma once

#include <algorithm>
#include <cstdint>

namespace skipstone::exec {

/// A row attends to the first `sink` positions of the text and the last `recent` ones, itself among these (attention sinks: Xiao et al.,
/// arXiv 2309.17453). Keys keep the rotations of their positions. recent >= 1.
struct KeyWindow {
  std::uint32_t sink = 0, recent = 1;
  /// How many keys a row at `position` attends to.
  std::uint32_t keys(std::uint32_t position) const { return std::min(position + 1, sink + recent); }
  bool operator==(const KeyWindow&) const = default;
};

}  // namespace skipstone::exec
