// The scalar reference of the runnable formats: rows of blocks; the blocks themselves are in quants/.
#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "gguf/quants/blocks.h"

namespace skipstone::gguf {
namespace {

void check_sizes(const Traits& t, std::size_t bytes, std::size_t weights, const char* what) {
  if (!t.runnable) fail(Code::unsupported, "cannot {} {} tensors; formats with kernels are {}", what, t.name, runnable_names());
  const std::uint64_t wanted = row_bytes(t.type, weights);
  if (wanted != bytes) {
    fail(Code::invalid_argument, "cannot {} {} weights of {}: they are {} bytes, not {}", what, weights, t.name, wanted, bytes);
  }
}

}  // namespace

const BlockCode& block_code(Type type) {
#define WEIGHT_FORMAT(id, ...) \
  case Type::id:               \
    return id##_code;
  switch (type) {
#include "gguf/weight_formats.def"
    default:
      fail(Code::unsupported, "there is no code for weights of type {}; formats with kernels are {}", traits(type).name, runnable_names());
  }
}

void dequantize(Type type, std::span<const std::byte> blocks, std::span<float> out) {
  const Traits& t = traits(type);
  check_sizes(t, blocks.size(), out.size(), "expand");
  if (!out.empty()) block_code(type).expand(blocks.data(), out.size() / t.block, out.data());
}

void quantize(Type type, std::span<const float> weights, std::span<std::byte> out) {
  const Traits& t = traits(type);
  check_sizes(t, out.size(), weights.size(), "quantise to");
  if (weights.empty()) return;
  const BlockCode& code = block_code(type);
  if (code.round == nullptr) fail(Code::unsupported, "cannot quantise to {} tensors: they are only read", t.name);
  if (t.block > 1) {
    const auto bad = std::ranges::find_if_not(weights, [&t](float weight) { return std::fabs(weight) <= t.largest; });  // finds a NaN too
    if (bad != weights.end()) fail(Code::invalid_argument, "a weight of {} is too large for {} or not finite", *bad, t.name);
  }
  code.round(weights.data(), weights.size() / t.block, out.data());
}

}  // namespace skipstone::gguf
