// How keys and values are stored in a KV cache.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skipstone {

/// The numbers are specialisation constants of the kernels (shaders/abi/kv_cache.h). From q8_0 on, blocks of kv_block dimensions share a
/// scale (docs/numerics.md).
enum class KvFormat : std::uint32_t { f32 = 0, f16 = 1, q8_0 = 2, q4_0 = 3, q5_1 = 4 };

/// Dimensions of a block: heads must be multiples of it.
constexpr std::uint32_t kv_block = 32;

/// A format's row.
struct KvFormatTraits {
  const char* name;
  std::uint32_t code_bits;    ///< of a dimension in the plane of codes: a float, a half, or a quant (of Q5_1 its lower four bits)
  std::uint32_t scale_bytes;  ///< of a block in the plane of scales: scale, minimum, fifth bits of codes; 0: no blocks
  constexpr bool has_blocks() const { return scale_bytes > 0; }
};

/// By KvFormat.
inline constexpr std::array<KvFormatTraits, 5> kv_formats = {
    {{"f32", 32, 0}, {"f16", 16, 0}, {"q8_0", 8, 2}, {"q4_0", 4, 2}, {"q5_1", 4, 8}}};

constexpr const KvFormatTraits& traits(KvFormat format) { return kv_formats[static_cast<std::size_t>(format)]; }

constexpr const char* to_string(KvFormat format) { return traits(format).name; }

constexpr std::optional<KvFormat> kv_format_named(std::string_view name) {
  for (std::size_t i = 0; i < kv_formats.size(); ++i) {
    if (name == kv_formats[i].name) return static_cast<KvFormat>(i);
  }
  return std::nullopt;
}

/// The formats of keys and of values.
struct KvFormats {
  KvFormat k, v;

  constexpr KvFormats(KvFormat both) : k(both), v(both) {}
  constexpr KvFormats(KvFormat of_k, KvFormat of_v) : k(of_k), v(of_v) {}
  constexpr bool have_blocks() const { return traits(k).has_blocks() || traits(v).has_blocks(); }
  constexpr bool operator==(const KvFormats&) const = default;
};

/// "q8_0", or "q8_0/q4_0" if keys and values differ.
inline std::string to_string(const KvFormats& formats) {
  return formats.k == formats.v ? to_string(formats.k) : std::string(to_string(formats.k)) + "/" + to_string(formats.v);
}

}  // namespace skipstone
