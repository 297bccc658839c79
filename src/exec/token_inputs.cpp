// The dispatches of per-layer embeddings (Gemma 4): each token gives each layer some numbers, of a table of their own and of the token's
// embedding. At the end of a layer they are the factors of a gate, and what that makes of them is added to the residual stream.
#include <fmt/format.h>

#include <cmath>

#include "exec/pass_dispatches.h"

namespace skipstone::exec {

using kernels::Resource;
using kernels::ResourceKind;

void append_token_inputs(PassDispatches& pass, Resource embeddings) {
  const PassContext& context = pass.context();
  const model::Config& config = context.config;
  const model::TokenInputWeights& own = *context.weights.token_inputs;
  const std::uint32_t n = config.token_input(), rows = pass.spec().bucket;
  const Resource inputs{ResourceKind::token_inputs}, projections{ResourceKind::gate_up};
  pass.append(kernels::embed(pass.select(), own.embedding, rows, inputs, std::sqrt(static_cast<float>(n)), "token_embed"));
  pass.multiply(own.projection, embeddings, projections, {.scale = 1.0f / std::sqrt(static_cast<float>(config.width))}, "token_projection");
  pass.append(kernels::token_inputs(
      pass.select(),
      {.projections = projections, .weight = own.norm, .n = n, .layers = config.layer_count(), .epsilon = config.norm_epsilon}, rows,
      "token_inputs"));
}

void append_token_addition(PassDispatches& pass, std::uint32_t layer, Resource x) {
  const model::LayerWeights& weights = pass.context().weights.layers[layer];
  const model::TokenAdditionWeights& own = *weights.token_addition;
  const model::Config& config = pass.config();
  const std::uint32_t n = config.token_input();
  const Resource gate{ResourceKind::activated};
  const std::string blk = fmt::format("blk.{}.", layer);
  pass.multiply(own.gate, x, gate, {}, blk + "inp_gate");
  pass.append(kernels::token_gate(pass.select(), gate, {.n = n, .first = layer * n, .width = config.layer_count() * n}, pass.spec().bucket,
                                  blk + "token_gate"));
  pass.multiply(own.out, gate, {ResourceKind::normed}, {}, blk + "proj");
  pass.append(kernels::norm(pass.select(),
                            {.x = {ResourceKind::normed},
                             .out = pass.other_residual(),
                             .weight = own.norm,
                             .bias = {},
                             .residual = x,
                             .n = config.width,
                             .epsilon = config.norm_epsilon,
                             .output_scale = weights.output_scale},
                            pass.spec().bucket, blk + "post_norm"));
}

}  // namespace skipstone::exec
