// How keys and values are stored in a KV cache.
#pragma once

#include <cstdint>

namespace skipstone {

/// The numbers are specialisation constants of the kernels (shaders/abi/kv_cache.h).
enum class KvFormat : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q8_0 = 2,  ///< blocks of kv_block dimensions: signed bytes and a half-precision scale (docs/numerics.md)
};

/// Dimensions of a block of KvFormat::q8_0: heads must be multiples of it.
constexpr std::uint32_t kv_block = 32;

/// "f32", "f16" or "q8_0".
constexpr const char* to_string(KvFormat format) { return format == KvFormat::f32 ? "f32" : format == KvFormat::f16 ? "f16" : "q8_0"; }

}  // namespace skipstone
