// The dispatches of model::ShortConv.
#include <fmt/format.h>

#include "exec/pass_dispatches.h"

namespace skipstone::exec {
using kernels::ResourceKind;

kernels::Records records_of(const PassContext& context, std::uint32_t layer) {
  return {.layer = layer,
          .width = recurrent_shape(context.config).record,
          .tables = first_table_entry(MemoryKind::recurrent, context.sequence.context)};
}

// One kernel stores records and convolves them: where records are all that is needed, its output is not read.
void append_store(PassDispatches& pass, const ByKind<std::uint32_t>&, std::uint32_t layer, const model::ShortConv& conv) {
  const PassContext& context = pass.context();
  const model::LayerWeights& weights = context.weights.layers[layer];
  const auto& own = std::get<model::ShortConvWeights>(weights.mixer);
  const std::string blk = fmt::format("blk.{}.", layer);
  const auto [x, norm] = pass.normalise(weights.attention_norm, blk + "attn_norm");
  for (const model::Projection& p : own.in) {
    pass.multiply(p.matrix, x, {ResourceKind::qkv}, {.norm = norm, .y_first = p.first, .y_width = recurrent_shape(context.config).input},
                  blk + p.name);
  }
  pass.append(kernels::short_conv(pass.select(), {records_of(context, layer), conv.kernel, own.taps}, pass.spec().bucket,
                                  blk + "short_conv", pass.spec().tree));
}

void append_mixer(PassDispatches& pass, const ByKind<std::uint32_t>& slots, std::uint32_t layer, const model::ShortConv& conv) {
  append_store(pass, slots, layer, conv);
  const model::LayerWeights& weights = pass.context().weights.layers[layer];
  const std::string blk = fmt::format("blk.{}.", layer);
  pass.add_to_residual({std::get<model::ShortConvWeights>(weights.mixer).out,
                        {ResourceKind::recurrent},
                        {},
                        weights.attention_post_norm,
                        blk + "shortconv_out",
                        blk + "post_attention_norm"});
}

std::vector<kernels::Dispatch> move_accepted(const PassContext& context, const ByKind<std::uint32_t>&, std::uint32_t layer,
                                             const model::ShortConv&) {
  return {kernels::move_records(context.select, records_of(context, layer), fmt::format("blk.{}.move_records", layer))};
}

}  // namespace skipstone::exec
