// The scalar reference of the runnable formats. Blocks of 32 weights: Q8_0 is {f16 scale, 32 int8}; Q4_0 is {f16 scale, 16 bytes whose
// low halves are weights 0..15 and high halves weights 16..31, each stored plus 8}.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "base/status.h"
#include "gguf/traits.h"

namespace skipstone::gguf {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF stores little-endian numbers, which this code reads in place");

constexpr std::size_t kBlock = 32;

std::uint16_t load16(const std::byte* from) {
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

void store16(std::byte* to, std::uint16_t bits) { std::memcpy(to, &bits, sizeof bits); }

void check_sizes(const Traits& t, std::size_t bytes, std::size_t weights, const char* what) {
  if (!t.runnable) {
    fail(Code::unsupported, "cannot {} {} tensors; formats with kernels are F32, F16, BF16, Q8_0 and Q4_0", what, t.name);
  }
  const std::uint64_t wanted = row_bytes(t.type, weights);
  if (wanted != bytes) {
    fail(Code::invalid_argument, "cannot {} {} weights of {}: they are {} bytes, not {}", what, weights, t.name, wanted, bytes);
  }
}

void dequantize_q8_0(const std::byte* block, float* out) {
  const float scale = half_to_float(load16(block));
  for (std::size_t i = 0; i < kBlock; ++i) out[i] = scale * static_cast<float>(std::bit_cast<std::int8_t>(block[2 + i]));
}

void dequantize_q4_0(const std::byte* block, float* out) {
  const float scale = half_to_float(load16(block));
  for (std::size_t i = 0; i < kBlock / 2; ++i) {
    const auto packed = std::to_integer<int>(block[2 + i]);
    out[i] = scale * static_cast<float>((packed & 15) - 8);
    out[i + kBlock / 2] = scale * static_cast<float>((packed >> 4) - 8);
  }
}

/// Writes the scale and returns what weights are to be multiplied with; 0 where the stored scale is 0 and the codes are thus idle.
float store_scale(float scale, std::string_view format, std::byte* to) {
  const std::uint16_t bits = float_to_half(scale);
  const float stored = half_to_float(bits);
  if (!std::isfinite(stored))
    fail(Code::invalid_argument, "weights too large for {} or not finite: their scale would be {}", format, scale);
  store16(to, bits);
  return stored == 0.0f ? 0.0f : 1.0f / scale;
}

void quantize_q8_0(const float* weights, std::byte* block) {
  float largest = 0.0f;
  for (std::size_t i = 0; i < kBlock; ++i) {
    if (!(std::fabs(weights[i]) <= largest)) largest = std::fabs(weights[i]);  // a NaN gets through and is refused below
    if (std::isnan(largest)) break;
  }
  const float inverse = store_scale(largest / 127.0f, "Q8_0", block);
  for (std::size_t i = 0; i < kBlock; ++i) {
    block[2 + i] = std::bit_cast<std::byte>(static_cast<std::int8_t>(std::round(weights[i] * inverse)));
  }
}

std::byte nibble(float weight, float inverse) {
  // Adding a half and cutting rounds to nearest, since the sum is never negative: the signed maximum maps to exactly 0.
  return static_cast<std::byte>(std::min(15, static_cast<int>(weight * inverse + 8.5f)));
}

void quantize_q4_0(const float* weights, std::byte* block) {
  float largest = 0.0f;  // with its sign: it becomes code 0, so that the wider side of the range is used
  for (std::size_t i = 0; i < kBlock; ++i) {
    if (!(std::fabs(weights[i]) <= std::fabs(largest))) largest = weights[i];
    if (std::isnan(largest)) break;
  }
  const float inverse = store_scale(largest / -8.0f, "Q4_0", block);
  for (std::size_t i = 0; i < kBlock / 2; ++i) {
    block[2 + i] = nibble(weights[i], inverse) | (nibble(weights[i + kBlock / 2], inverse) << 4);
  }
}

}  // namespace

void dequantize(Type type, std::span<const std::byte> blocks, std::span<float> out) {
  const Traits& t = traits(type);
  check_sizes(t, blocks.size(), out.size(), "expand");
  if (out.empty()) return;
  switch (type) {
    case Type::f32:
      std::memcpy(out.data(), blocks.data(), blocks.size());
      return;
    case Type::f16:
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = half_to_float(load16(&blocks[2 * i]));
      return;
    case Type::bf16:
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = bfloat_to_float(load16(&blocks[2 * i]));
      return;
    case Type::q8_0:
      for (std::size_t b = 0; b < out.size() / kBlock; ++b) dequantize_q8_0(&blocks[b * t.bytes], &out[b * kBlock]);
      return;
    case Type::q4_0:
      for (std::size_t b = 0; b < out.size() / kBlock; ++b) dequantize_q4_0(&blocks[b * t.bytes], &out[b * kBlock]);
      return;
  }
  fail(Code::internal, "{} is marked as runnable but has no scalar reference", t.name);
}

void quantize(Type type, std::span<const float> weights, std::span<std::byte> out) {
  const Traits& t = traits(type);
  check_sizes(t, out.size(), weights.size(), "quantise to");
  if (weights.empty()) return;
  switch (type) {
    case Type::f32:
      std::memcpy(out.data(), weights.data(), out.size());
      return;
    case Type::f16:
      for (std::size_t i = 0; i < weights.size(); ++i) store16(&out[2 * i], float_to_half(weights[i]));
      return;
    case Type::bf16:
      for (std::size_t i = 0; i < weights.size(); ++i) store16(&out[2 * i], float_to_bfloat(weights[i]));
      return;
    case Type::q8_0:
      for (std::size_t b = 0; b < weights.size() / kBlock; ++b) quantize_q8_0(&weights[b * kBlock], &out[b * t.bytes]);
      return;
    case Type::q4_0:
      for (std::size_t b = 0; b < weights.size() / kBlock; ++b) quantize_q4_0(&weights[b * kBlock], &out[b * t.bytes]);
      return;
  }
  fail(Code::internal, "{} is marked as runnable but has no scalar reference", t.name);
}

}  // namespace skipstone::gguf
