// The dispatches of model::Attention.
#include <fmt/format.h>

#include "exec/pass_dispatches.h"
#include "exec/rope_table.h"

namespace skipstone::exec {
namespace {

using kernels::ResourceKind;

// The layer's shape with its slots and page tables: those of the layer whose keys and values it reads, if that is another one.
kernels::AttentionShape shape_of(const PassContext& context, const ByKind<std::uint32_t>& slots, std::uint32_t layer,
                                 const model::Attention& attention) {
  const MemoryKind kind = memory_kind_of(context.config, context.sequence.context, attention.kv_source.value_or(layer));
  kernels::AttentionShape shape = attention_shape(context.config, attention, context.sequence);
  shape.slots = slots[kind];
  shape.tables = first_table_entry(kind, context.sequence.context);
  return shape;
}

kernels::AttentionLayer layer_of(const PassContext& context, std::uint32_t layer, const model::Attention& attention) {
  const std::uint32_t positions = context.sequence.context;
  const RopeRows rows = rope_rows(context.config, positions, attention);
  return {.index = attention.kv_source.value_or(layer),
          .rotates = attention.rotates,
          .k_row = rows.k,
          .q_row = rows.q,
          .window = attention.window < positions ? attention.window : 0,
          .without_first = context.config.block(layer).predicts,
          .sinks = std::get<model::AttentionWeights>(context.weights.layers[layer].mixer).sinks};
}

void normalise_qk(PassDispatches& pass, const model::AttentionWeights& weights, const model::Attention& attention,
                  const std::string& label) {
  if (attention.qk_norm == model::QkNorm::none) return;
  const bool heads = attention.qk_norm == model::QkNorm::head;
  using kernels::ValueNorm;
  pass.append(kernels::head_norm(pass.select(),
                                 {.q_weight = *weights.q_norm,
                                  .k_weight = weights.k_norm.value_or(*weights.q_norm),
                                  .q_parts = heads ? attention.heads : 1,
                                  .k_parts = attention.kv_source ? 0
                                             : heads             ? attention.kv_heads
                                                                 : 1,
                                  .q_length = heads ? attention.head_dim : attention.q_width(),
                                  .k_length = heads ? attention.head_dim : attention.kv_width(),
                                  .stride = kernels::padded(attention.qkv_width()),
                                  .epsilon = pass.config().norm_epsilon,
                                  .q_step = heads && attention.output_gate ? 2 * attention.head_dim : 0,
                                  .values = !attention.value_norm || attention.kv_source ? ValueNorm::none
                                            : attention.keys_as_values                   ? ValueNorm::keys
                                                                                         : ValueNorm::own},
                                 pass.spec().bucket, label));
}

}  // namespace

namespace {

/// Rotated Q of the rows, and their K and V in the cache, if the layer has its own. `with_queries`: those of latent attention too, whose
/// work is their own.
void append_qkv(PassDispatches& pass, const ByKind<std::uint32_t>& slots, std::uint32_t layer, const model::Attention& attention,
                bool with_queries) {
  const PassContext& context = pass.context();
  const model::LayerWeights& weights = context.weights.layers[layer];
  const auto& own = std::get<model::AttentionWeights>(weights.mixer);
  const std::string blk = fmt::format("blk.{}.", layer);
  const kernels::AttentionShape shape = shape_of(context, slots, layer, attention);
  if (attention.has_latents()) {
    append_latents(pass, shape, layer, attention, with_queries);
  } else {
    const auto [x, norm] = pass.normalise(weights.attention_norm, blk + "attn_norm");
    for (const model::Projection& p : own.projections) {
      pass.multiply(p.matrix, x, {ResourceKind::qkv},
                    {.norm = norm, .bias_tensor = own.qkv_bias, .y_first = p.first, .y_width = shape.qkv_width()}, blk + p.name);
    }
    normalise_qk(pass, own, attention, blk + "qk_norm");
  }
  pass.append(kernels::rope_store(pass.select(), shape, layer_of(context, layer, attention), pass.spec().bucket,
                                  blk + (attention.rotates ? "rope_store" : "store"), pass.spec().tree));
}

}  // namespace

void append_store(PassDispatches& pass, const ByKind<std::uint32_t>& slots, std::uint32_t layer, const model::Attention& attention) {
  if (!attention.kv_source) append_qkv(pass, slots, layer, attention, false);
}

void append_mixer(PassDispatches& pass, const ByKind<std::uint32_t>& slots, std::uint32_t layer, const model::Attention& attention) {
  append_qkv(pass, slots, layer, attention, true);
  const PassSpec& spec = pass.spec();
  const model::LayerWeights& weights = pass.context().weights.layers[layer];
  const auto& own = std::get<model::AttentionWeights>(weights.mixer);
  const std::string blk = fmt::format("blk.{}.", layer);
  const kernels::AttentionShape shape = shape_of(pass.context(), slots, layer, attention);
  const kernels::AttentionLayer params = layer_of(pass.context(), layer, attention);
  if (spec.prompt) {
    pass.append(kernels::attention_prefill(pass.select(), shape, params, spec.bucket, blk + "attention"));
  } else {
    const kernels::Keys keys = spec.tree ? kernels::Keys::tree : spec.window ? kernels::Keys::window : kernels::Keys::text;
    pass.append(kernels::attention(pass.select(), shape, params, spec.bucket, blk + "attention", keys));
  }
  if (attention.output_gate) pass.append(kernels::head_gate(pass.select(), shape, spec.bucket, blk + "head_gate"));
  const kernels::Resource outputs =
      attention.has_latents() ? append_latent_outputs(pass, layer, attention) : kernels::Resource{ResourceKind::attended};
  pass.add_to_residual({own.o, outputs, own.o_bias, weights.attention_post_norm, blk + "attn_output", blk + "post_attention_norm"});
}

std::vector<kernels::Dispatch> move_accepted(const PassContext& context, const ByKind<std::uint32_t>& slots, std::uint32_t layer,
                                             const model::Attention& attention) {
  if (attention.kv_source) return {};
  return kernels::move_kv(context.select, shape_of(context, slots, layer, attention), layer, fmt::format("blk.{}.move_kv", layer));
}

}  // namespace skipstone::exec
