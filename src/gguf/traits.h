// What each tensor type of the format is: name, block length, bytes per block, and whether this build can multiply with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace skipstone::gguf {

/// The numbers are those in the file (ggml_type). Types that only other programs use are in the traits table all the same.
enum class Type : std::uint32_t { f32 = 0, f16 = 1, q4_0 = 2, q8_0 = 8, bf16 = 30 };

struct Traits {
  Type type;
  std::string_view name;  ///< as in the field: "F16", "Q8_0", "Q4_K", ...
  std::uint32_t block;    ///< weights per block
  std::uint32_t bytes;    ///< bytes per block
  bool runnable;          ///< there are kernels for it
  bool removed = false;   ///< the format dropped it; the sizes are those it had, and no File has tensors of it
};

/// Every type that the format names (also those that are not runnable), in the order of their numbers.
std::span<const Traits> all_traits();

/// nullptr where the number names no type.
const Traits* find_traits(std::uint32_t number);

/// For types that are known to be in the table (every Type read from a File is).
const Traits& traits(Type type);

/// The bytes of one row of `length` weights; `length` must divide into blocks.
std::uint64_t row_bytes(Type type, std::uint64_t length);

/// Scalar reference: expands blocks to floats; `out.size()` weights. Throws unsupported for types that are not runnable.
void dequantize(Type type, std::span<const std::byte> blocks, std::span<float> out);

/// Rounds floats to blocks of `type`; `weights.size()` must divide into blocks, `out` holds exactly the bytes.
/// The rounding is the format's usual one (Q8_0: absmax/127; Q4_0: signed max / -8).
void quantize(Type type, std::span<const float> weights, std::span<std::byte> out);

}  // namespace skipstone::gguf
