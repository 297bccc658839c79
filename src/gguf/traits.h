// The properties of each tensor type of the format: name, block length, bytes per block, and whether this build can multiply with it and
// write it. The rows are in weight_formats.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace skipstone::gguf {

/// The numbers are those in the file (ggml_type), of sparse types others. Types that only other programs use have an enumerator too.
enum class Type : std::uint32_t {
#define WEIGHT_FORMAT(id, number, ...) id = (number),
#define TENSOR_TYPE WEIGHT_FORMAT
#define REMOVED_TYPE WEIGHT_FORMAT
#include "gguf/weight_formats.def"
};

struct Traits {
  Type type;
  std::string_view name;  ///< as in the field: "F16", "Q8_0", "Q4_K", ...
  std::uint32_t block;    ///< weights per block
  std::uint32_t bytes;    ///< bytes per block
  bool runnable;          ///< there are kernels for it, and dequantize() reads it
  float largest;          ///< the largest magnitude that quantize() stores; 0 where the type cannot be written
  bool removed = false;   ///< the format dropped it; the sizes are those it had, and no File has tensors of it

  /// Whether quantize() writes it; it is runnable then too.
  bool writable() const { return largest > 0.0f; }
};

/// Every type that the format names (also those that are not runnable), in the order of their numbers.
std::span<const Traits> all_traits();

/// The types of 2:4 sparse matrices, which the format does not know: of four neighbouring weights two are stored.
std::span<const Traits> sparse_traits();
bool is_sparse(Type type);

/// F32, F16 and BF16: runnable types without blocks.
bool is_float(Type type);

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
/// src/gguf/quants/. Throws unsupported for types that are not writable, invalid_argument where a block has a weight that is not finite or
/// beyond the type's largest. `importance`: the mean square of the input that each weight multiplies, or nothing: all weights then count
/// alike. Throws invalid_argument where there is one of another length, negative, or not finite.
void quantize(Type type, std::span<const float> weights, std::span<std::byte> out, std::span<const float> importance = {});

}  // namespace skipstone::gguf
