#include "selftest/attention_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/half.h"
#include "ref/operations.h"
#include "selftest/compare.h"

namespace skipstone::selftest {

using kernels::AttentionShape;
using kernels::padded;
using kernels::ResourceKind;

model::Config rope_config(const AttentionShape& shape) {
  model::Config config;
  config.head_dim = shape.head_dim;
  config.rope_dim = shape.rope_dim;
  config.rope_pairs = shape.rope_halves ? model::RopePairs::halves : model::RopePairs::neighbours;
  return config;
}

std::vector<float> make_rope_table(const AttentionShape& shape) {
  const model::Config config = rope_config(shape);
  std::vector<float> table;
  for (std::uint32_t position = 0; position < shape.context; ++position) {
    for (std::uint32_t i = 0; i < shape.rope_dim / 2; ++i) {
      const double angle = position * std::pow(static_cast<double>(config.rope_base), -2.0 * i / shape.rope_dim);
      table.push_back(static_cast<float>(std::cos(angle)));
      table.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  return table;
}

std::string AttentionShapeRows::text() const {
  return fmt::format("{} H={}/{} D={} chunk={} base={} rows={}", shape.half_kv ? "f16" : "f32", shape.heads, shape.kv_heads, shape.head_dim,
                     shape.chunk, base, rows);
}

AttentionData::AttentionData(const AttentionShapeRows& work, std::string_view seed) : work_(work) {
  Random random(seed);
  const AttentionShape& s = work.shape;
  const std::size_t stored = std::size_t{work.base + work.rows} * s.kv_heads * s.head_dim;
  // Scores of a standard deviation of about 2, whatever the head's length: peaked, but not on one key.
  q_ = random.floats(std::size_t{work.rows} * s.heads * s.head_dim, -6.0f, 6.0f);
  keys_ = random.floats(stored, -1.0f, 1.0f);
  values_ = random.floats(stored, -2.0f, 2.0f);
  if (!s.half_kv) return;
  for (std::vector<float>* cached : {&keys_, &values_}) {
    for (float& value : *cached) value = half_to_float(float_to_half(value));
  }
}

void AttentionData::put(Bench& bench, std::uint32_t bucket) const {
  const AttentionShape& s = work_.shape;
  std::vector<float> q = strided(q_, s.heads * s.head_dim);
  q.resize(std::size_t{bucket} * padded(s.heads * s.head_dim), 1e30f);  // of padding rows
  bench.put({ResourceKind::q_rotated}, q);
  for (const auto& [kind, cached] : {std::pair{ResourceKind::k_cache, &keys_}, std::pair{ResourceKind::v_cache, &values_}}) {
    std::vector<float> floats(std::size_t{s.kv_heads} * s.context * s.head_dim, std::bit_cast<float>(Bench::untouched));
    for (std::uint32_t position = 0; position < work_.base + work_.rows; ++position) {
      for (std::uint32_t head = 0; head < s.kv_heads; ++head) {
        std::copy_n(&(*cached)[(std::size_t{position} * s.kv_heads + head) * s.head_dim], s.head_dim,
                    &floats[(std::size_t{head} * s.context + position) * s.head_dim]);
      }
    }
    if (!s.half_kv) {
      bench.put({kind}, floats);
      continue;
    }
    std::vector<std::uint16_t> halves(floats.size());
    std::transform(floats.begin(), floats.end(), halves.begin(), float_to_half);
    bench.put({kind}, halves);
  }
  bench.set_rows(work_.base, work_.rows);
  const std::uint32_t last = work_.base + work_.rows - 1;
  bench.state().attention_groups = {last / s.chunk + 1, s.heads / bench.select().attention(s.group(), s.head_dim, s.chunk, work_.rows).heads, work_.rows};
}

// How much a row's weights exp(score - maximum) may be off, relative to themselves. Scores: head_dim roundings, the scale and its own
// rounding, relative to sum |q k|. exp: 3 + 2|x| units by Vulkan's rules, once for the key and once more whenever the running maximum
// rises or chunks are joined; the differences of successive maxima add up to at most the range of the scores.
double AttentionData::relative_error(std::span<const float> q, std::uint32_t kv_head, std::uint32_t position) const {
  const AttentionShape& s = work_.shape;
  const double scale = 1.0 / std::sqrt(static_cast<double>(s.head_dim));
  double magnitude = 0.0, highest = 0.0, lowest = 0.0;
  std::uint32_t rises = 0;
  for (std::uint32_t key = 0; key <= position; ++key) {
    const float* k = &keys_[(std::size_t{key} * s.kv_heads + kv_head) * s.head_dim];
    double score = 0.0, sum = 0.0;
    for (std::uint32_t d = 0; d < s.head_dim; ++d) {
      const double product = static_cast<double>(q[d]) * static_cast<double>(k[d]);
      score += product;
      sum += std::abs(product);
    }
    magnitude = std::max(magnitude, sum * scale);
    score *= scale;
    if (key == 0 || score > highest) ++rises;
    highest = key == 0 ? score : std::max(highest, score);
    lowest = key == 0 ? score : std::min(lowest, score);
  }
  return (2 * (s.head_dim + 4) * magnitude + 4.0 * (rises + 2) + 4 * (highest - lowest)) * epsilon;
}

void AttentionData::expect(std::uint32_t row, std::vector<float>& wanted, std::vector<double>& tolerance) const {
  const AttentionShape& s = work_.shape;
  const std::uint32_t width = s.heads * s.head_dim, position = work_.base + row;
  const std::span<const float> q = std::span(q_).subspan(std::size_t{row} * width, width);
  wanted.resize(width);
  ref::attention(q, {keys_, values_, s.kv_heads, s.head_dim}, position, wanted);
  // The weighted mean of |v|: what errors of weights and of the sums over keys are relative to.
  std::vector<float> sizes(values_.size()), mean(width);
  std::transform(values_.begin(), values_.end(), sizes.begin(), [](float v) { return std::abs(v); });
  ref::attention(q, {keys_, sizes, s.kv_heads, s.head_dim}, position, mean);
  tolerance.resize(width);
  for (std::uint32_t head = 0; head < s.heads; ++head) {
    const double relative = 2 * relative_error(q.subspan(std::size_t{head} * s.head_dim, s.head_dim), head / s.group(), position) +
                            2.0 * (position + 10) * epsilon;
    for (std::uint32_t d = 0; d < s.head_dim; ++d) {
      tolerance[head * s.head_dim + d] = relative * static_cast<double>(mean[head * s.head_dim + d]) + smallest;
    }
  }
}

}  // namespace skipstone::selftest
