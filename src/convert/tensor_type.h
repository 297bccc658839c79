// Which type each tensor of a written file has, and how a file says which type it is of.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "gguf/traits.h"

namespace skipstone::convert {

/// The type a tensor is stored in when a file of type `wanted` is asked for; `shape` as in the file, fastest first. One-dimensional tensors
/// (norms, biases, rope factors) stay F32, as do norms of each head and the router of a mixture of experts; the embedding and the output
/// matrix of a Q4_0 file are Q8_0 (the first and last matrix hurt most); a matrix whose rows do not divide into blocks is F16.
gguf::Type tensor_type(std::string_view name, std::span<const std::uint64_t> shape, gguf::Type wanted);

/// general.file_type (llama_ftype of llama.h: F32 0, F16 1, Q4_0 2, Q8_0 7, BF16 32).
std::uint32_t file_type(gguf::Type type);

/// "f16", "Q8_0", ...; throws invalid_argument with the list of those that there are.
gguf::Type parse_type(std::string_view name);

}  // namespace skipstone::convert
