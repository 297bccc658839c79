#include "selftest/attention_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/half.h"
#include "ref/operations.h"
#include "selftest/compare.h"
#include "selftest/rows.h"

namespace skipstone::selftest {

using kernels::AttentionShape;
using kernels::KvLayout;
using kernels::padded;
using kernels::ResourceKind;

model::Config rope_config(const AttentionShape& shape) {
  model::Config config;
  config.rope_dim = shape.rope_dim;
  config.rope_pairs = shape.rope_halves ? model::RopePairs::halves : model::RopePairs::neighbours;
  config.local_rope_base = 500.0f;
  return config;
}

std::vector<float> make_rope_table(const AttentionShape& shape) {
  const model::Config config = rope_config(shape);
  std::vector<float> table;
  for (std::uint32_t row = 0; row < 2 * shape.context; ++row) {
    const std::uint32_t position = row % shape.context;
    const auto base = static_cast<double>(row < shape.context ? config.rope_base : config.local_rope_base);
    for (std::uint32_t i = 0; i < shape.rope_dim / 2; ++i) {
      const double angle = position * std::pow(base, -2.0 * i / shape.rope_dim);
      table.push_back(static_cast<float>(std::cos(angle)));
      table.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  return table;
}

namespace {

// A vector's codes go to `words`, its scales to `scales`.
void put_blocks(KvFormat format, std::span<const float> vector, std::uint32_t* words, std::uint32_t* scales) {
  const std::uint32_t code_bits = traits(format).code_bits, codes = 32 / code_bits;
  std::fill_n(words, vector.size() / codes, 0u);
  for (std::size_t block = 0; block < vector.size() / kv_block; ++block) {
    const ref::KvBlock made = ref::quantise_kv(format, vector.subspan(block * kv_block).first<kv_block>());
    std::uint32_t fifths = 0;
    for (std::size_t i = 0; i < kv_block; ++i) {
      const auto code = static_cast<std::uint32_t>(made.quants[i] + (format == KvFormat::q4_0 ? 8 : 0));
      words[(block * kv_block + i) / codes] |= (code & ((1u << code_bits) - 1)) << (i % codes * code_bits);
      fifths |= (code >> 4 & 1u) << i;
    }
    if (format == KvFormat::q5_1) {
      scales[2 * block] = made.scale | std::uint32_t{made.minimum} << 16;
      scales[2 * block + 1] = fifths;
      continue;
    }
    if (block % 2 == 0) scales[block / 2] = 0;
    scales[block / 2] |= std::uint32_t{made.scale} << (block % 2 * 16);
  }
}

// The words of a head's vector at a position, and of its scales.
struct Place {
  std::size_t vector, scales;
};

Place place_of(const KvLayout& layout, std::uint32_t kv_head, std::uint32_t position) {
  const std::size_t head = kv_head * layout.head_bytes();
  return {(head + std::size_t{position} * layout.code_bytes()) / 4,
          (head + layout.scales_at() + std::size_t{position} * layout.scale_bytes()) / 4};
}

}  // namespace

std::vector<std::uint32_t> kv_words(const KvLayout& layout, std::uint32_t base, std::span<const float> rows) {
  std::vector<std::uint32_t> words(layout.bytes() / 4, Bench::untouched);
  for (std::uint32_t position = base; !rows.empty(); ++position) {
    for (std::uint32_t head = 0; head < layout.kv_heads; ++head, rows = rows.subspan(layout.head_dim)) {
      const std::span<const float> vector = rows.first(layout.head_dim);
      const Place place = place_of(layout, head, position);
      if (traits(layout.format).has_blocks()) {
        put_blocks(layout.format, vector, &words[place.vector], &words[place.scales]);
      } else if (layout.format == KvFormat::f32) {
        std::ranges::transform(vector, &words[place.vector], [](float value) { return std::bit_cast<std::uint32_t>(value); });
      } else {
        for (std::size_t d = 0; d < vector.size(); d += 2)
          words[place.vector + d / 2] = float_to_half(vector[d]) | std::uint32_t{float_to_half(vector[d + 1])} << 16;
      }
    }
  }
  return words;
}

void append_position(const KvLayout& layout, std::span<const std::uint32_t> cache, std::uint32_t kv_head, std::uint32_t position,
                     std::vector<std::uint32_t>& to) {
  const Place place = place_of(layout, kv_head, position);
  const auto vector = cache.subspan(place.vector, layout.code_bytes() / 4);
  to.insert(to.end(), vector.begin(), vector.end());
  if (layout.scale_bytes() == 0) return;
  const auto scales = cache.subspan(place.scales, layout.scale_bytes() / 4);
  to.insert(to.end(), scales.begin(), scales.end());
}

void copy_position(const KvLayout& layout, std::span<const std::uint32_t> from, std::uint32_t from_position, std::span<std::uint32_t> to,
                   std::uint32_t to_position) {
  for (std::uint32_t head = 0; head < layout.kv_heads; ++head) {
    const Place source = place_of(layout, head, from_position), target = place_of(layout, head, to_position);
    std::copy_n(&from[source.vector], layout.code_bytes() / 4, &to[target.vector]);
    if (layout.scale_bytes() > 0) std::copy_n(&from[source.scales], layout.scale_bytes() / 4, &to[target.scales]);
  }
}

std::string AttentionShapeRows::text() const {
  return fmt::format("{} H={}/{} D={} chunk={} base={} rows={}{}{}{}{}{}{}", to_string(shape.kv_format), shape.heads, shape.kv_heads,
                     shape.head_dim, shape.chunk, base, rows,
                     window   ? fmt::format(" window={},{}", window->sink, window->recent)
                     : tree() ? " tree"
                              : "",
                     layer_window > 0 ? fmt::format(" layer-window={}", layer_window) : "", shape.has_latents() ? " latents" : "",
                     shape.scale > 0.0f ? fmt::format(" scale={}", shape.scale) : "",
                     shape.softcap > 0.0f ? fmt::format(" cap={}", shape.softcap) : "", sinks ? " sinks" : "");
}

std::uint32_t AttentionShapeRows::keys_of(std::uint32_t row) const {
  const auto position = base + static_cast<std::uint32_t>(path_to(parents, row).size()) - 1;
  return window ? window->keys(position) : position + 1;
}

std::uint32_t AttentionShapeRows::first_of(std::uint32_t row) const {
  const auto position = base + static_cast<std::uint32_t>(path_to(parents, row).size()) - 1;
  if (layer_window == 0 || position < layer_window) return 0;
  // Such a layer sees none of the text's prefix, which is no longer cached.
  const std::uint32_t keys = keys_of(row), seen = window && keys <= position ? std::min(layer_window, window->recent) : layer_window;
  return keys - std::min(keys, seen);
}

std::vector<std::uint32_t> AttentionShapeRows::visible(std::uint32_t row) const {
  std::vector<std::uint32_t> slots(base);
  std::iota(slots.begin(), slots.end(), 0u);
  for (const std::uint32_t ancestor : path_to(parents, row)) slots.push_back(base + ancestor);
  if (window) std::erase_if(slots, [&](std::uint32_t slot) { return slot >= window->sink && slot + window->recent <= base + row; });
  slots.erase(slots.begin(), slots.begin() + std::ptrdiff_t{first_of(row)});
  return slots;
}

namespace {

// Bench::untouched in all words of a position, scales included: NaN in every format.
void forget_position(const KvLayout& layout, std::uint32_t position, std::vector<std::uint32_t>& words) {
  for (std::uint32_t head = 0; head < layout.kv_heads; ++head) {
    const Place place = place_of(layout, head, position);
    std::fill_n(&words[place.vector], layout.code_bytes() / 4, Bench::untouched);
    if (layout.scale_bytes() > 0) std::fill_n(&words[place.scales], layout.scale_bytes() / 4, Bench::untouched);
  }
}

constexpr std::uint32_t sinks_tensor = 0;

double scale_of(const AttentionShape& shape) {
  return shape.scale > 0.0f ? static_cast<double>(shape.scale) : 1.0 / std::sqrt(static_cast<double>(shape.head_dim));
}

}  // namespace

kernels::AttentionLayer AttentionShapeRows::layer() const {
  return {.window = layer_window, .sinks = sinks ? std::optional(sinks_tensor) : std::nullopt};
}

std::vector<float> make_sinks(const AttentionShapeRows& work) {
  if (!work.sinks) return {};
  std::vector<float> sinks = Random("sinks " + work.text()).floats(work.shape.heads, -4.0f, 8.0f);
  sinks.front() = 120.0f;  // nothing is left of the values; exp(120) is no float
  sinks.back() = -120.0f;  // nothing is left of the sink
  return sinks;
}

void put_sinks(Bench& bench, std::span<const float> sinks) {
  if (sinks.empty()) return;
  std::vector<float> floats(sinks.begin(), sinks.end());
  floats.resize(padded(static_cast<std::uint32_t>(sinks.size())));
  bench.put({ResourceKind::weight, sinks_tensor}, floats);
}

AttentionData::AttentionData(const AttentionShapeRows& work, std::string_view seed) : work_(work), sinks_(make_sinks(work)) {
  Random random(seed);
  const AttentionShape& s = work.shape;
  const std::size_t stored = std::size_t{work.base + work.rows} * s.kv_heads * s.head_dim;
  // Scores of a standard deviation of about 2, whatever the head's length: peaked, but not on one key.
  q_ = random.floats(std::size_t{work.rows} * s.heads * s.head_dim, -6.0f, 6.0f);
  keys_ = random.floats(stored, -1.0f, 1.0f);
  values_ = random.floats(stored, -2.0f, 2.0f);
  ref::round_kv(s.kv_format.k, keys_);
  ref::round_kv(s.kv_format.v, values_);
  if (s.has_latents()) values_ = keys_;
}

void AttentionData::put(Bench& bench, std::uint32_t bucket) const {
  put_sinks(bench, sinks_);
  const AttentionShape& s = work_.shape;
  std::vector<float> q = strided(q_, s.heads * s.head_dim);
  q.resize(std::size_t{bucket} * padded(s.heads * s.head_dim), 1e30f);  // of padding rows
  bench.put({ResourceKind::q_rotated}, q);
  std::vector<bool> seen(work_.base + work_.rows, false);
  for (std::uint32_t row = 0; row < work_.rows; ++row) {
    for (const std::uint32_t slot : work_.visible(row)) seen[slot] = true;
  }
  for (const auto& [kind, cached] : {std::pair{ResourceKind::k_cache, &keys_}, std::pair{ResourceKind::v_cache, &values_}}) {
    if (kind == ResourceKind::v_cache && s.has_latents()) continue;
    const KvLayout layout = s.cache(kind);
    std::vector<std::uint32_t> words = kv_words(layout, 0, *cached);
    for (std::uint32_t slot = 0; slot < seen.size(); ++slot) {
      if (!seen[slot]) forget_position(layout, slot, words);
    }
    bench.put({kind}, words);
  }
  bench.set_rows(work_.base, work_.rows);
  if (work_.window) bench.state().window = {work_.window->sink, work_.window->recent};
  put_tree(bench, work_.parents);
  const std::uint32_t most_keys = work_.window ? work_.keys_of(work_.rows - 1) : work_.base + work_.rows;
  // One group more than there are heads, as in layers with fewer groups than others of their model.
  bench.state().attention_groups = {(most_keys - 1) / s.chunk + 1,
                                    s.heads / bench.select().attention(s.group(), s.head_dim, s.chunk, work_.rows).heads + 1, work_.rows};
}

// How much a row's weights exp(score - maximum) may be off, relative to themselves. Scores: head_dim roundings, the scale and its own
// rounding, relative to sum |q k|. exp: 3 + 2|x| units by Vulkan's rules, once for the key and once more whenever the running maximum
// rises or chunks are joined; the differences of successive maxima add up to at most the range of the scores. A sink is
// one more score. A softcap, whose slope is at most 1, adds an error of its own.
double AttentionData::relative_error(std::span<const float> q, std::uint32_t head, std::span<const std::uint32_t> visible) const {
  const AttentionShape& s = work_.shape;
  const std::uint32_t kv_head = head / s.group();
  const double scale = scale_of(s), cap = static_cast<double>(s.softcap);
  double magnitude = 0.0, highest = 0.0, lowest = 0.0, bent = 0.0;
  std::uint32_t rises = 0;
  for (const std::uint32_t key : visible) {
    const float* k = &keys_[(std::size_t{key} * s.kv_heads + kv_head) * s.head_dim];
    double score = 0.0, sum = 0.0;
    for (std::uint32_t d = 0; d < s.head_dim; ++d) {
      const double product = static_cast<double>(q[d]) * static_cast<double>(k[d]);
      score += product;
      sum += std::abs(product);
    }
    magnitude = std::max(magnitude, sum * scale);
    score *= scale;
    if (cap > 0.0) {
      bent = std::max(bent, softcap_error(score, cap));
      score = cap * std::tanh(score / cap);
    }
    const bool first = key == visible.front();
    if (first || score > highest) ++rises;
    highest = first ? score : std::max(highest, score);
    lowest = first ? score : std::min(lowest, score);
  }
  if (!sinks_.empty()) {
    const auto sink = static_cast<double>(sinks_[head]);
    ++rises;
    highest = std::max(highest, sink);
    lowest = std::min(lowest, sink);
  }
  return (2 * (s.head_dim + 4) * magnitude + 4.0 * (rises + 2) + 4 * (highest - lowest)) * epsilon + 2 * bent;
}

void AttentionData::expect(std::uint32_t row, std::vector<float>& wanted, std::vector<double>& tolerance) const {
  const AttentionShape& s = work_.shape;
  const std::uint32_t width = s.heads * s.head_dim;
  const std::vector<std::uint32_t> visible = work_.visible(row);
  const std::span<const float> q = std::span(q_).subspan(std::size_t{row} * width, width);
  wanted.resize(width);
  const double scale = scale_of(s), cap = static_cast<double>(s.softcap);
  ref::attention(q, {keys_, values_, s.kv_heads, s.head_dim, scale, cap, sinks_}, visible, wanted);
  // The weighted mean of |v|: errors of weights and of the sums over keys are relative to it.
  std::vector<float> sizes(values_.size()), mean(width);
  std::transform(values_.begin(), values_.end(), sizes.begin(), [](float v) { return std::abs(v); });
  ref::attention(q, {keys_, sizes, s.kv_heads, s.head_dim, scale, cap, sinks_}, visible, mean);
  tolerance.resize(width);
  for (std::uint32_t head = 0; head < s.heads; ++head) {
    const double relative = 2 * relative_error(q.subspan(std::size_t{head} * s.head_dim, s.head_dim), head, visible) +
                            2.0 * (static_cast<double>(visible.size()) + 9) * epsilon;
    for (std::uint32_t d = 0; d < s.head_dim; ++d) {
      tolerance[head * s.head_dim + d] = relative * static_cast<double>(mean[head * s.head_dim + d]) + smallest;
    }
  }
}

}  // namespace skipstone::selftest
