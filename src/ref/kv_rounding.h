// The rounding of keys and values in a KV cache, in scalar code.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/kv_format.h"

namespace skipstone::ref {

/// A block of KvFormat::q8_0.
struct KvBlock {
  std::uint16_t scale = 0;  ///< binary16: largest magnitude / 127, to nearest even
  std::array<std::int8_t, kv_block> quants = {};
  float value(std::size_t i) const;
  bool operator==(const KvBlock&) const = default;
};

/// Quants are value / scale rounded to the nearest, ties away from zero, at most 127 in size; all 0 where the scale is 0, infinite or NaN.
KvBlock quantise_kv(std::span<const float, kv_block> values);

/// Replaces keys or values by their values as cached. q8_0: whole blocks; throws invalid_argument for other lengths.
void round_kv(KvFormat format, std::span<float> values);

}  // namespace skipstone::ref
