// The code of each weight format for its blocks: expanding, the device's layout, and for formats that are written rounding. One file a
// format, or a family of them, in quants/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gguf/traits.h"

namespace skipstone::gguf {

/// Random contents of a buffer: of every `period` 16-bit halves (1..32), those whose bit is set in `numbers` are finite numbers, the others
/// random bits. f32 numbers take whole words; the bit of their first half counts. Numbers are in the range that kernels::random_fill is
/// given, or where their bit is set in `minima` too in that times `minimum`. e8m0 and e4m3: both bytes of a half are the scale of MXFP4 or
/// NVFP4 for one positive number.
struct RandomPattern {
  enum class Number : std::uint32_t { f16 = 0, f32 = 1, bf16 = 2, e8m0 = 3, e4m3 = 4 };
  Number number = Number::f16;
  std::uint32_t period = 1, numbers = 0, minima = 0;
  float minimum = 0.0f;
};

/// A unit of random weights on the device.
struct RandomUnit {
  RandomPattern quants, scales;  ///< planes 0 and 1
  double size;                   ///< the root mean square of weights whose scales are around 1
};

struct BlockCode {
  /// Expands `count` blocks, any bits: Traits::block floats each.
  void (*expand)(const std::byte* blocks, std::size_t count, float* out);
  /// Writes one block of the file as one unit to planes 0 and 1, whose bytes of a unit weight_formats.def has. nullptr: rows are copied to
  /// plane 0.
  void (*repack)(const std::byte* block, std::byte* quants, std::byte* scales);
  RandomUnit random;
  /// Whether the scales and minima of `count` blocks are numbers, neither infinite nor NaN. nullptr: the type cannot store others, or has
  /// none.
  bool (*scales_are_finite)(const std::byte* blocks, std::size_t count);
  /// Rounds weights, which Traits::largest admits, to `count` blocks. `importance`: by how much each weight's squared error counts, above
  /// 0; nullptr: all alike. nullptr for formats that are not written.
  void (*round)(const float* weights, std::size_t count, std::byte* blocks, const float* importance);
  /// What the codes of all blocks look up (a grid): the words at the beginning of plane 1, before the units, in multiples of 256 bytes.
  /// Mostly none.
  std::span<const std::uint32_t> table = {};
};

/// Throws unsupported for types without kernels.
const BlockCode& block_code(Type type);

/// BlockCode::scales_are_finite; true for types without one.
bool scales_are_finite(Type type, const std::byte* blocks, std::size_t count);

}  // namespace skipstone::gguf
