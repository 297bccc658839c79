// The dispatches of model::Latents around those of attention: the key in the cache, queries as long as it, and what heads make of outputs.
#include <fmt/format.h>

#include "exec/pass_dispatches.h"

namespace skipstone::exec {
namespace {

using kernels::ResourceKind;

/// The queries of latent attention: their part that rotates in qkv, after the key, and the others in q_rotated, where they are as long as
/// keys. Without a latent vector of their own, the matrix that makes keys makes them too.
void append_latent_queries(PassDispatches& pass, const kernels::AttentionShape& shape, const model::AttentionWeights& own,
                           const model::Attention& attention, const std::string& blk) {
  const std::uint32_t rows = pass.spec().bucket;
  const model::LatentWeights& weights = *own.latents;
  if (weights.q_b) {
    kernels::Resource latents{ResourceKind::query_latents};
    std::optional<kernels::MatvecNorm> norm;
    if (pass.fused()) {
      norm = kernels::MatvecNorm{*own.q_norm, pass.config().norm_epsilon};
    } else {
      pass.append(kernels::rms_norm(pass.select(), latents, *own.q_norm, {ResourceKind::normed}, attention.latents.query, rows,
                                    pass.config().norm_epsilon, false, blk + "attn_q_a_norm"));
      latents = {ResourceKind::normed};
    }
    pass.multiply(*weights.q_b, latents, {ResourceKind::qkv}, {.norm = norm, .y_first = shape.head_dim, .y_width = shape.qkv_width()},
                  blk + "attn_q_b");
  }
  pass.append(kernels::head_product(pass.select(), weights.k_b, attention.heads,
                                    {{ResourceKind::qkv}, {shape.head_dim, shape.q_step(), shape.qkv_width()}},
                                    {{ResourceKind::q_rotated}, {0, shape.head_dim, attention.q_width()}}, rows, blk + "attn_k_b"));
}

}  // namespace

void append_latents(PassDispatches& pass, const kernels::AttentionShape& shape, std::uint32_t layer, const model::Attention& attention,
                    bool with_queries) {
  const model::LayerWeights& weights = pass.context().weights.layers[layer];
  const auto& own = std::get<model::AttentionWeights>(weights.mixer);
  const std::string blk = fmt::format("blk.{}.", layer);
  const auto [x, norm] = pass.normalise(weights.attention_norm, blk + "attn_norm");
  for (const model::Projection& p : own.projections) {
    pass.multiply(p.matrix, x, {ResourceKind::qkv}, {.norm = norm, .y_first = p.first, .y_width = shape.qkv_width()}, blk + p.name);
  }
  if (with_queries && own.latents->q_a)
    pass.multiply(*own.latents->q_a, x, {ResourceKind::query_latents}, {.norm = norm}, blk + "attn_q_a");
  pass.append(kernels::head_norm(pass.select(),
                                 {.q_weight = *own.k_norm,
                                  .k_weight = *own.k_norm,
                                  .q_parts = 1,
                                  .q_length = attention.latents.width,
                                  .stride = kernels::padded(shape.qkv_width()),
                                  .epsilon = pass.config().norm_epsilon},
                                 pass.spec().bucket, blk + "attn_kv_a_norm"));
  if (with_queries) append_latent_queries(pass, shape, own, attention, blk);
}

kernels::Resource append_latent_outputs(PassDispatches& pass, std::uint32_t layer, const model::Attention& attention) {
  const auto& own = std::get<model::AttentionWeights>(pass.context().weights.layers[layer].mixer);
  const kernels::Resource outputs{ResourceKind::head_outputs};
  const std::uint32_t length = attention.latents.value_dim;
  pass.append(kernels::head_product(
      pass.select(), own.latents->v_b, attention.heads, {{ResourceKind::attended}, {0, attention.head_dim, attention.q_width()}},
      {outputs, {0, length, attention.output_width()}}, pass.spec().bucket, fmt::format("blk.{}.attn_v_b", layer)));
  return outputs;
}

}  // namespace skipstone::exec
