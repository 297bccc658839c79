#include "ref/operations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/half.h"
#include "base/status.h"

namespace skipstone::ref {

namespace {

/// Eight partial sums in binary64, added pairwise at the end. They are named one by one because compilers keep them in vector registers
/// only then; without that the oracle is several times slower. Floats convert exactly, so the types of the operands do not change a bit of
/// the result.
template <typename A, typename B>
double dot(const A* a, const B* b, std::size_t length) {
  const auto product = [&](std::size_t i) { return static_cast<double>(a[i]) * static_cast<double>(b[i]); };
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
  std::size_t i = 0;
  for (; i + 8 <= length; i += 8) {
    s0 += product(i);
    s1 += product(i + 1);
    s2 += product(i + 2);
    s3 += product(i + 3);
    s4 += product(i + 4);
    s5 += product(i + 5);
    s6 += product(i + 6);
    s7 += product(i + 7);
  }
  for (; i < length; ++i) s0 += product(i);
  return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7));
}

void expect(bool condition, const char* what) {
  if (!condition) fail(Code::invalid_argument, "The oracle's operands do not fit each other: {}.", what);
}

}  // namespace

void multiply(std::span<const float> weights, std::span<const float> x, std::span<float> y, std::size_t rows) {
  expect(rows > 0 && x.size() % rows == 0 && y.size() % rows == 0, "x and y must be whole rows");
  const std::size_t k = x.size() / rows, n = y.size() / rows;
  expect(weights.size() == n * k, "the weights are not N rows of K");
  const std::vector<double> wide(x.begin(), x.end());
  if (rows == 1) {
    for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<float>(dot(&weights[i * k], wide.data(), k));
    return;
  }
  std::vector<double> weight(k);  // converted once for all rows
  for (std::size_t i = 0; i < n; ++i) {
    std::copy_n(&weights[i * k], k, weight.begin());
    for (std::size_t r = 0; r < rows; ++r) y[r * n + i] = static_cast<float>(dot(weight.data(), &wide[r * k], k));
  }
}

void matvec(gguf::Type type, std::span<const std::byte> weights, std::span<const float> x, std::span<float> y) {
  expect(x.size() % gguf::traits(type).block == 0, "K does not divide into blocks");
  const std::uint64_t bytes = gguf::row_bytes(type, x.size());
  expect(weights.size() == bytes * y.size(), "the bytes are not N rows of K weights");
  std::vector<float> row(x.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    gguf::dequantize(type, weights.subspan(i * bytes, bytes), row);
    y[i] = static_cast<float>(dot(row.data(), x.data(), row.size()));
  }
}

std::vector<float> row(const gguf::Tensor& tensor, std::uint64_t index) {
  expect(index < tensor.rows(), "the tensor has no such row");
  const std::uint64_t bytes = gguf::row_bytes(tensor.type, tensor.row_length());
  std::vector<float> out(tensor.row_length());
  std::vector<std::byte> buffer;
  gguf::dequantize(tensor.type, tensor.data.view(index * bytes, bytes, buffer), out);
  return out;
}

std::vector<float> weights(const gguf::Tensor& tensor) {
  std::vector<float> out(tensor.elements());
  gguf::dequantize(tensor, out);
  return out;
}

void rms_norm(std::span<const float> x, std::span<const float> weight, float epsilon, std::span<float> out) {
  expect(!x.empty() && x.size() == weight.size() && x.size() == out.size(), "x, weight and out differ in length");
  const double mean = dot(x.data(), x.data(), x.size()) / static_cast<double>(x.size());
  const double scale = 1.0 / std::sqrt(mean + static_cast<double>(epsilon));
  for (std::size_t i = 0; i < x.size(); ++i)
    out[i] = static_cast<float>(static_cast<double>(x[i]) * scale * static_cast<double>(weight[i]));
}

void layer_norm(std::span<const float> x, std::span<const float> weight, std::span<const float> bias, float epsilon, std::span<float> out) {
  expect(!x.empty() && x.size() == weight.size() && x.size() == bias.size() && x.size() == out.size(),
         "x, weight, bias and out differ in length");
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  double variance = 0.0;
  for (const float v : x) variance += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
  const double scale = 1.0 / std::sqrt(variance / static_cast<double>(x.size()) + static_cast<double>(epsilon));
  for (std::size_t i = 0; i < x.size(); ++i) {
    out[i] = static_cast<float>((static_cast<double>(x[i]) - mean) * scale * static_cast<double>(weight[i]) + static_cast<double>(bias[i]));
  }
}

void rope(std::span<float> heads, std::uint32_t head_dim, std::uint32_t position, const model::Config& config, bool local) {
  expect(head_dim > 0 && heads.size() % head_dim == 0, "the vector is not whole heads");
  const std::uint32_t dimensions = local && config.local_rope_dim != 0 ? config.local_rope_dim : config.rope_dim, pairs = dimensions / 2;
  const bool neighbours = config.rope_pairs == model::RopePairs::neighbours;
  for (std::uint32_t i = 0; i < pairs; ++i) {
    const auto base = static_cast<double>(local ? config.local_rope_base : config.rope_base);
    double angle = static_cast<double>(position) * std::pow(base, -2.0 * i / dimensions);
    if (!local) angle /= static_cast<double>(config.rope_scale);
    if (!local && !config.rope_factors.empty()) angle /= static_cast<double>(config.rope_factors[i]);
    const double magnitude = local ? 1.0 : static_cast<double>(config.rope_magnitude);
    const double cosine = magnitude * std::cos(angle), sine = magnitude * std::sin(angle);
    const std::size_t first = neighbours ? 2 * i : i, second = neighbours ? 2 * i + 1 : i + pairs;
    for (std::size_t head = 0; head < heads.size(); head += head_dim) {
      const auto a = static_cast<double>(heads[head + first]), b = static_cast<double>(heads[head + second]);
      heads[head + first] = static_cast<float>(a * cosine - b * sine);
      heads[head + second] = static_cast<float>(a * sine + b * cosine);
    }
  }
}

void attention(std::span<const float> q, const KvView& cache, std::span<const std::uint32_t> visible, std::span<float> out) {
  const std::size_t dim = cache.head_dim, stride = cache.kv_heads * dim;
  expect(dim > 0 && stride > 0 && q.size() == out.size() && q.size() % stride == 0, "the query heads do not divide among the KV heads");
  expect(!visible.empty(), "a row must see at least one position");
  const std::size_t positions = std::min(cache.keys.size(), cache.values.size()) / stride;
  for (const std::uint32_t p : visible) expect(p < positions, "a visible position is outside the cache");
  const std::size_t heads = q.size() / dim, group = heads / cache.kv_heads;
  expect(cache.sinks.empty() || cache.sinks.size() == heads, "the sinks are not as many as the query heads");
  const double scale = cache.scale > 0.0 ? cache.scale : 1.0 / std::sqrt(static_cast<double>(dim));
  std::vector<double> scores(visible.size()), sums(dim);
  for (std::size_t h = 0; h < heads; ++h) {
    const std::size_t offset = h / group * dim;
    for (std::size_t j = 0; j < visible.size(); ++j) {
      scores[j] = dot(&q[h * dim], &cache.keys[visible[j] * stride + offset], dim) * scale;
      if (cache.softcap > 0.0) scores[j] = cache.softcap * std::tanh(scores[j] / cache.softcap);
    }
    const double sink = cache.sinks.empty() ? -std::numeric_limits<double>::infinity() : static_cast<double>(cache.sinks[h]);
    const double most = std::max(*std::ranges::max_element(scores), sink);
    double total = std::exp(sink - most);
    std::ranges::fill(sums, 0.0);
    for (std::size_t j = 0; j < visible.size(); ++j) {
      const double weight = std::exp(scores[j] - most);
      total += weight;
      const float* value = &cache.values[visible[j] * stride + offset];
      for (std::size_t d = 0; d < dim; ++d) sums[d] += weight * static_cast<double>(value[d]);
    }
    for (std::size_t d = 0; d < dim; ++d) out[h * dim + d] = static_cast<float>(sums[d] / total);
  }
}

void attention(std::span<const float> q, const KvView& cache, std::uint32_t position, std::span<float> out, std::uint32_t window) {
  const std::uint32_t first = window > 0 && position >= window ? position + 1 - window : 0;
  std::vector<std::uint32_t> visible(static_cast<std::size_t>(position) + 1 - first);
  std::iota(visible.begin(), visible.end(), first);
  attention(q, cache, visible, out);
}

void swiglu(std::span<const float> gate, std::span<const float> up, std::span<float> out) {
  expect(gate.size() == up.size() && gate.size() == out.size(), "gate, up and out differ in length");
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const auto g = static_cast<double>(gate[i]);
    out[i] = static_cast<float>(g / (1.0 + std::exp(-g)) * static_cast<double>(up[i]));
  }
}

double gelu(double x) { return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x))); }

void geglu(std::span<const float> gate, std::span<const float> up, std::span<float> out) {
  expect(gate.size() == up.size() && gate.size() == out.size(), "gate, up and out differ in length");
  for (std::size_t i = 0; i < gate.size(); ++i) {
    out[i] = static_cast<float>(gelu(static_cast<double>(gate[i])) * static_cast<double>(up[i]));
  }
}

void clamped_swiglu(std::span<const float> gate, std::span<const float> up, std::span<float> out) {
  expect(gate.size() == up.size() && gate.size() == out.size(), "gate, up and out differ in length");
  constexpr double limit = 7.0, steepness = 1.702;
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double g = std::min(static_cast<double>(gate[i]), limit), u = std::clamp(static_cast<double>(up[i]), -limit, limit);
    out[i] = static_cast<float>(g / (1.0 + std::exp(-steepness * g)) * (u + 1.0));
  }
}

float cosine(std::span<const float> before, std::span<const float> after) {
  expect(before.size() == after.size(), "the two vectors differ in length");
  const double a = dot(before.data(), before.data(), before.size()), b = dot(after.data(), after.data(), after.size());
  if (a == 0.0 || b == 0.0) return 0.0f;
  return static_cast<float>(dot(before.data(), after.data(), before.size()) / (std::sqrt(a) * std::sqrt(b)));
}

Argmax argmax(std::span<const float> logits) {
  std::size_t best = logits.size();
  float second = -std::numeric_limits<float>::infinity();
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) continue;
    ++numbers;
    if (best == logits.size() || logits[i] > logits[best]) {
      if (best != logits.size()) second = logits[best];
      best = i;
    } else {
      second = std::max(second, logits[i]);
    }
  }
  Argmax choice;
  if (numbers == 0) return choice;
  const float most = logits[best];
  double total = 0.0;
  for (const float logit : logits) {
    // Equality first: the difference of two equal infinities is not a number.
    if (!std::isnan(logit)) total += logit == most ? 1.0 : std::exp(static_cast<double>(logit) - static_cast<double>(most));
  }
  choice.token = static_cast<std::int32_t>(best);
  choice.probability = static_cast<float>(1.0 / total);
  if (numbers == 1) choice.margin = std::numeric_limits<float>::infinity();
  if (numbers > 1 && second != most) choice.margin = most - second;
  return choice;
}

float KvBlock::value(std::size_t i) const { return static_cast<float>(quants[i]) * half_to_float(scale) + half_to_float(minimum); }

namespace {

constexpr std::uint16_t half_infinity = 0x7c00, half_nan = 0x7e00;

KvBlock q8_0_scale(std::span<const float, kv_block> values) {
  float largest = 0.0f;
  for (const float value : values) {
    if (std::isnan(value)) largest = std::abs(value);  // and stays: no comparison with it is true
    if (std::abs(value) > largest) largest = std::abs(value);
  }
  return {.scale = float_to_half(largest * (1.0f / 127.0f))};
}

KvBlock q4_0_scale(std::span<const float, kv_block> values) {
  float largest = 0.0f;
  for (const float value : values) {
    if (std::isnan(value) || std::abs(value) > std::abs(largest)) largest = value;
    if (std::isnan(largest)) break;
  }
  const std::uint16_t scale = float_to_half(std::abs(largest) * 0.125f);
  const bool signless = scale == 0 || scale >= half_infinity;
  return {.scale = static_cast<std::uint16_t>(signless || std::signbit(largest) ? scale : scale | 0x8000)};
}

KvBlock q5_1_scale(std::span<const float, kv_block> values) {
  if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) return {.scale = half_nan};
  const auto less = [](float a, float b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); };
  const auto [least, largest] = std::ranges::minmax(values, less);
  return {.scale = float_to_half((largest - least) * (1.0f / 31.0f)), .minimum = float_to_half(least)};
}

}  // namespace

KvBlock quantise_kv(KvFormat format, std::span<const float, kv_block> values) {
  KvBlock block = format == KvFormat::q8_0 ? q8_0_scale(values) : format == KvFormat::q4_0 ? q4_0_scale(values) : q5_1_scale(values);
  const auto scale = static_cast<double>(half_to_float(block.scale));
  const float minimum = half_to_float(block.minimum);
  if (scale == 0.0 || !std::isfinite(scale) || !std::isfinite(minimum)) return block;
  // A quotient of 24 by 11 bits that is no tie is further than 2^-40 of it from one: binary64 and its rounding decide right.
  std::ranges::transform(values, block.quants.begin(), [&](float value) {
    const double quotient = static_cast<double>(value - minimum) / scale;
    if (format == KvFormat::q8_0) return static_cast<std::int8_t>(std::clamp(std::round(quotient), -127.0, 127.0));
    const double rounded = std::floor(quotient + 0.5);
    return static_cast<std::int8_t>(format == KvFormat::q4_0 ? std::clamp(rounded, -8.0, 7.0) : std::clamp(rounded, 0.0, 31.0));
  });
  return block;
}

void round_kv(KvFormat format, std::span<float> values) {
  if (format == KvFormat::f16)
    std::ranges::transform(values, values.begin(), [](float value) { return half_to_float(float_to_half(value)); });
  if (!traits(format).has_blocks()) return;
  if (values.size() % kv_block != 0) fail(Code::invalid_argument, "{} values are no whole blocks of {}.", values.size(), kv_block);
  for (; !values.empty(); values = values.subspan(kv_block)) {
    const KvBlock block = quantise_kv(format, values.first<kv_block>());
    for (std::size_t i = 0; i < kv_block; ++i) values[i] = block.value(i);
  }
}

}  // namespace skipstone::ref
