// Multi-head latent attention (arXiv 2405.04434, section 2.1), with the heads' matrices for keys and values on the side of queries and
// outputs: what is cached of a position is one key, whose first dimensions are its value.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "ref/layers.h"
#include "ref/operations.h"

namespace skipstone::ref {
namespace {

struct LatentWeights {
  model::Attention attention;
  NormWeights query_norm, key_norm;
  Linear q_a, q, kv_a, o;        ///< q_a: empty where q sees the rows
  std::vector<Linear> k_b, v_b;  ///< by head

  LatentWeights(const model::Attention& like, const model::Parameters& t);
  Floats run(const LayerRows& at, const Floats& input) const;

 private:
  void split(const model::Parameter& fused);
  void rotate(const LayerRows& at, Floats& rows, std::size_t heads) const;
  Floats queries_of(const LayerRows& at, const Floats& input) const;
  Floats keys_of(const LayerRows& at, const Floats& input) const;
};

LatentWeights::LatentWeights(const model::Attention& like, const model::Parameters& t)
    : attention(like),
      query_norm(t[model::Role::q_norm]),
      key_norm(t[model::Role::k_norm]),
      kv_a(t[model::Role::kv_a]),
      o(t[model::Role::o]) {
  using model::Role;
  if (t[Role::q_a]) q_a = Linear(t[Role::q_a]);
  q = Linear(t[Role::q_a] ? t[Role::q_b] : t[Role::q]);
  if (attention.latents.fused) {
    split(t[Role::kv_b]);
  } else {
    k_b = Linear::of_stack(t[Role::k_b]);
    v_b = Linear::of_stack(t[Role::v_b]);
  }
}

/// Of a head: rows that make its key of a latent vector, whose columns are the rows of k_b, then those of v_b.
void LatentWeights::split(const model::Parameter& fused) {
  const std::size_t width = attention.latents.width, key_dim = attention.latents.key_dim, value_dim = attention.latents.value_dim;
  const std::size_t rows = key_dim + value_dim;
  for (std::size_t head = 0; head < attention.heads; ++head) {
    const Linear key(fused, head * rows, key_dim);
    Linear& turned = k_b.emplace_back();
    turned.scale = key.scale;
    for (std::size_t column = 0; column < width; ++column) {
      for (std::size_t row = 0; row < key_dim; ++row) turned.weight.push_back(key.weight[row * width + column]);
    }
    v_b.emplace_back(fused, head * rows + key_dim, value_dim);
  }
}

/// The last dimensions of each head.
void LatentWeights::rotate(const LayerRows& at, Floats& rows, std::size_t heads) const {
  const std::size_t length = attention.head_dim, first = attention.latents.width;
  for (std::size_t i = 0; i < at.rows * heads; ++i) {
    const auto position = at.first_position + static_cast<std::uint32_t>(i / heads);
    rope(row_of(rows, i, length).subspan(first), static_cast<std::uint32_t>(length - first), position, at.config, attention.local_rope);
  }
}

/// As long as keys: by k_b, and the part that rotates.
Floats LatentWeights::queries_of(const LayerRows& at, const Floats& input) const {
  const Floats made = q.apply(q_a.weight.empty() ? input : query_norm.apply(q_a.apply(input, at.rows), at.config.norm_epsilon), at.rows);
  const std::size_t length = attention.query_dim(), key_dim = attention.latents.key_dim;
  Floats queries;
  for (std::size_t i = 0; i < at.rows * attention.heads; ++i) {
    const auto own = row_of(made, i, length);
    const Floats latent = k_b[i % attention.heads].apply(Floats(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(key_dim)), 1);
    queries.insert(queries.end(), latent.begin(), latent.end());
    queries.insert(queries.end(), own.begin() + static_cast<std::ptrdiff_t>(key_dim), own.end());
  }
  rotate(at, queries, attention.heads);
  return queries;
}

Floats LatentWeights::keys_of(const LayerRows& at, const Floats& input) const {
  Floats keys = kv_a.apply(input, at.rows);
  for (std::size_t r = 0; r < at.rows; ++r) {
    const std::span<float> latent = row_of(keys, r, attention.head_dim).first(attention.latents.width);
    std::ranges::copy(key_norm.apply(Floats(latent.begin(), latent.end()), at.config.norm_epsilon), latent.begin());
  }
  rotate(at, keys, 1);
  return keys;
}

Floats LatentWeights::run(const LayerRows& at, const Floats& input) const {
  const std::uint32_t q_width = attention.q_width(), length = attention.head_dim;
  observe(at, MatrixInput::attention, input);
  const Floats queries = queries_of(at, input);
  Floats& stored = at.sequence.keys[at.layer];
  store(stored, at.first_position, length, keys_of(at, input), at.kv_format.k);
  const KvView cache{stored, stored, 1, length, attention.scale, attention.softcap};
  Floats outputs, mixed(q_width);
  for (std::size_t r = 0; r < at.rows; ++r) {
    ref::attention(row_of(queries, r, q_width), cache, at.first_position + static_cast<std::uint32_t>(r), mixed, attention.window);
    for (std::size_t head = 0; head < attention.heads; ++head) {
      const auto latent = row_of(std::as_const(mixed), head, length).first(attention.latents.width);
      const Floats own = v_b[head].apply(Floats(latent.begin(), latent.end()), 1);
      outputs.insert(outputs.end(), own.begin(), own.end());
    }
  }
  observe(at, MatrixInput::attention_output, outputs);
  return o.apply(outputs, at.rows);
}

}  // namespace

Computation load_latent_attention(const model::Attention& attention, const model::Parameters& tensors) {
  return computation<LatentWeights>(attention, tensors);
}

}  // namespace skipstone::ref
