// Limits of a model's shape: far above any model in the field and low enough that no product of two of them overflows 64 bits (or
// q_width 32).
#pragma once

#include <cstdint>

namespace skipstone::model {

inline constexpr std::uint32_t most_layers = 256;
inline constexpr std::uint32_t most_heads = 1u << 16;
inline constexpr std::uint32_t most_head_dim = 256;
inline constexpr std::uint32_t most_width = 1u << 20;
inline constexpr std::uint32_t most_ffn = 1u << 22;
inline constexpr std::uint32_t most_vocabulary = 1u << 24;
inline constexpr std::uint32_t most_context = 1u << 30;

}  // namespace skipstone::model
