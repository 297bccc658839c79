// The scalar reference of the runnable formats: rows of blocks; the blocks themselves are in quants/.
#include <algorithm>
#include <cmath>
#include <vector>

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

/// By how much the squared error of each weight of a row counts: the mean square of its input, and more for weights that are large beside
/// the row's others, which llama.cpp found to help (its factor is the same). No weight counts for nothing: a scale follows from any group.
/// Empty where no input matters.
std::vector<float> importance_of_weights(std::span<const float> weights, std::span<const float> importance) {
  if (importance.size() != weights.size()) {
    fail(Code::invalid_argument, "there are {} importances for {} weights", importance.size(), weights.size());
  }
  double all = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(importance[i] >= 0.0f) || !std::isfinite(importance[i])) {
      fail(Code::invalid_argument, "the importance of an input is {}, which is negative or not finite", importance[i]);
    }
    all += static_cast<double>(importance[i]);
    squares += static_cast<double>(weights[i]) * static_cast<double>(weights[i]);
  }
  if (!(all > 0.0)) return {};
  constexpr double least = 1e-6;
  const auto count = static_cast<double>(weights.size());
  std::vector<float> counts(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double square = static_cast<double>(weights[i]) * static_cast<double>(weights[i]);
    const double size = squares > 0.0 ? std::sqrt(1.0 + square * count / squares) : 1.0;
    counts[i] = static_cast<float>((static_cast<double>(importance[i]) * count / all + least) * size);
  }
  return counts;
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

bool scales_are_finite(Type type, const std::byte* blocks, std::size_t count) {
  const auto are_finite = block_code(type).scales_are_finite;
  return are_finite == nullptr || are_finite(blocks, count);
}

void dequantize(Type type, std::span<const std::byte> blocks, std::span<float> out) {
  const Traits& t = traits(type);
  check_sizes(t, blocks.size(), out.size(), "expand");
  if (!out.empty()) block_code(type).expand(blocks.data(), out.size() / t.block, out.data());
}

void quantize(Type type, std::span<const float> weights, std::span<std::byte> out, std::span<const float> importance) {
  const Traits& t = traits(type);
  check_sizes(t, out.size(), weights.size(), "quantise to");
  if (weights.empty()) return;
  const BlockCode& code = block_code(type);
  if (code.round == nullptr) fail(Code::unsupported, "cannot quantise to {} tensors: they are only read", t.name);
  if (t.block > 1) {
    const auto bad = std::ranges::find_if_not(weights, [&t](float weight) { return std::fabs(weight) <= t.largest; });  // finds a NaN too
    if (bad != weights.end()) fail(Code::invalid_argument, "a weight of {} is too large for {} or not finite", *bad, t.name);
  }
  const std::vector<float> counts = t.block > 1 && !importance.empty() ? importance_of_weights(weights, importance) : std::vector<float>();
  code.round(weights.data(), weights.size() / t.block, out.data(), counts.empty() ? nullptr : counts.data());
}

}  // namespace skipstone::gguf
