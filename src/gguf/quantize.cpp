// The scalar reference of the runnable formats: rows of blocks; the blocks themselves are in quants/.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/half.h"
#include "base/status.h"
#include "gguf/quants/coding.h"
#include "gguf/traits.h"

namespace skipstone::gguf {
namespace {

void check_sizes(const Traits& t, std::size_t bytes, std::size_t weights, const char* what) {
  if (!t.runnable) fail(Code::unsupported, "cannot {} {} tensors; formats with kernels are {}", what, t.name, runnable_names());
  const std::uint64_t wanted = row_bytes(t.type, weights);
  if (wanted != bytes) {
    fail(Code::invalid_argument, "cannot {} {} weights of {}: they are {} bytes, not {}", what, weights, t.name, wanted, bytes);
  }
}

const Coding& coding(const Traits& t) {
  for (const auto family : {scaled_codings, codebook_codings, super_block_codings, sparse_codings}) {
    for (const Coding& each : family()) {
      if (each.type == t.type) return each;
    }
  }
  fail(Code::internal, "{} is marked as runnable but has no scalar reference", t.name);
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
    default:
      const auto expand = coding(t).expand;
      for (std::size_t b = 0; b < out.size() / t.block; ++b) expand(&blocks[b * t.bytes], &out[b * t.block]);
  }
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
    default:
      break;
  }
  const auto bad = std::ranges::find_if_not(weights, [&t](float weight) { return std::fabs(weight) <= t.largest; });  // finds a NaN too
  if (bad != weights.end()) fail(Code::invalid_argument, "a weight of {} is too large for {} or not finite", *bad, t.name);
  const auto round = coding(t).round;
  for (std::size_t b = 0; b < weights.size() / t.block; ++b) round(&weights[b * t.block], &out[b * t.bytes]);
}

}  // namespace skipstone::gguf
