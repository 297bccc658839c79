// The dispatches of model::ShortConv.
#include <fmt/format.h>

#include "exec/pass_dispatches.h"

namespace skipstone::exec {

using kernels::ResourceKind;

// One kernel stores records and convolves them: where records are all that is needed, its output is not read.
void append_store(PassDispatches& pass, const ByKind<std::uint32_t>&, std::uint32_t layer, const model::ShortConv& conv) {
  const PassContext& context = pass.context();
  const auto& own = std::get<model::ShortConvWeights>(context.weights.layers[layer].mixer);
  project(pass, layer, own.in);
  pass.append(kernels::short_conv(pass.select(), {records_of(context, layer), conv.kernel, own.taps}, pass.spec().bucket,
                                  fmt::format("blk.{}.short_conv", layer), pass.spec().tree));
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

}  // namespace skipstone::exec
