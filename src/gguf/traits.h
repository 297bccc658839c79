// The properties of each tensor type of the format: name, block length, bytes per block, and whether this build can multiply with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace skipstone::gguf {

/// The numbers are those in the file (ggml_type). Types that only other programs use are in the traits table all the same.
enum class Type : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  iq4_nl = 20,
  i8 = 24,
  bf16 = 30,
  // Of our own, with numbers that no file has: a file holds them as I8 (sparse.h).
  sparse_f16 = 1u << 16,
  sparse_q8_0
};

struct Traits {
  Type type;
  std::string_view name;  ///< as in the field: "F16", "Q8_0", "Q4_K", ...
  std::uint32_t block;    ///< weights per block
  std::uint32_t bytes;    ///< bytes per block
  bool runnable;          ///< there are kernels for it
  float largest;          ///< the largest magnitude that quantize() stores; 0 where the type is not runnable
  bool removed = false;   ///< the format dropped it; the sizes are those it had, and no File has tensors of it
};

/// Every type that the format names (also those that are not runnable), in the order of their numbers.
std::span<const Traits> all_traits();

/// The types of 2:4 sparse matrices, which the format does not know: of four neighbouring weights two are stored.
std::span<const Traits> sparse_traits();
bool is_sparse(Type type);

/// nullptr where the number names no type of the format.
const Traits* find_traits(std::uint32_t number);

/// A runnable type, a sparse one too, by its name in lower or upper case; nullptr if there is none.
const Traits* find_runnable(std::string_view name);

/// For types that are known to be in the tables (every Type read from a File is).
const Traits& traits(Type type);

/// "F32, F16, ... and BF16": those of the format with kernels, for messages.
std::string runnable_names();

/// The bytes of one row of `length` weights; `length` must divide into blocks.
std::uint64_t row_bytes(Type type, std::uint64_t length);

/// Scalar reference: expands blocks to floats; `out.size()` weights. Throws unsupported for types that are not runnable.
void dequantize(Type type, std::span<const std::byte> blocks, std::span<float> out);

/// Rounds floats to blocks of `type`; `weights.size()` must divide into blocks, `out` holds exactly the bytes. How each format is rounded:
/// src/gguf/quants/. Throws invalid_argument where a block has a weight that is not finite or beyond the type's largest.
void quantize(Type type, std::span<const float> weights, std::span<std::byte> out);

}  // namespace skipstone::gguf
