// For tests of weight formats: the formats by what they can do, and random weights in blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/philox.h"
#include "base/status.h"
#include "fixtures/failure.h"
#include "gguf/traits.h"
#include "golden_blocks.h"

namespace skipstone::gguf {

template <typename Condition>
std::vector<Type> types_where(const Condition& condition) {
  std::vector<Type> types;
  for (const Traits& t : all_traits()) {
    if (condition(t)) types.push_back(t.type);
  }
  return types;
}

inline std::vector<Type> plain_types() {
  return types_where([](const Traits& t) { return t.writable() && t.block == 1; });
}
inline std::vector<Type> block_types() {
  return types_where([](const Traits& t) { return t.runnable && t.block > 1; });
}
inline std::vector<Type> written_block_types() {
  return types_where([](const Traits& t) { return t.writable() && t.block > 1; });
}
inline bool is_scaled(Type type) { return std::ranges::count(golden_roundings, type, &GoldenRounding::type) > 0; }
// Codes with a scale (and a minimum): rounding is a formula. The others search for good scales.
inline std::vector<Type> scaled_types() {
  return types_where([](const Traits& t) { return is_scaled(t.type); });
}
inline std::vector<Type> searched_types() {
  return types_where([](const Traits& t) { return t.writable() && t.block > 1 && !is_scaled(t.type); });
}

template <typename Action>
Code code_of(const Action& action) {
  return fixtures::failure_of(action).code;
}

inline std::vector<float> random_weights(std::size_t count, float scale, std::uint32_t seed) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto words = philox({static_cast<std::uint32_t>(i), 0, 0, 0}, {seed, 0});
    // A sum of four uniforms: bell-shaped, as weights are.
    double sum = -2.0;
    for (const auto word : words) sum += open_unit(word);
    out[i] = scale * static_cast<float>(sum);
  }
  return out;
}

inline std::vector<std::byte> quantized(Type type, const std::vector<float>& weights, std::span<const float> importance = {}) {
  std::vector<std::byte> out(row_bytes(type, weights.size()));
  quantize(type, weights, out, importance);
  return out;
}

inline std::vector<float> expanded(Type type, const std::vector<std::byte>& blocks, std::size_t count) {
  std::vector<float> out(count);
  dequantize(type, blocks, out);
  return out;
}

}  // namespace skipstone::gguf
