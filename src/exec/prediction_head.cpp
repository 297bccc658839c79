// The dispatches of a head for multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2). Its row at a position is of the token
// there and of the hidden state of the position before; the output is the token after it. Passes of the whole model store what the head
// keeps of their rows: hidden states as records, and keys and values of its layer. So a draft is a pass of one row.
#include <fmt/format.h>

#include "exec/pass_dispatches.h"

namespace skipstone::exec {
namespace {

using kernels::Resource;
using kernels::ResourceKind;

std::uint32_t layer_of_head(const PassDispatches& pass) { return pass.config().layer_count(); }

/// The records are those of the hidden states after `norm`.
void store_hidden_states(PassDispatches& pass, const model::NormWeights& norm) {
  const std::uint32_t layer = layer_of_head(pass);
  const std::string blk = fmt::format("blk.{}.", layer);
  pass.normalise(pass.residual(), norm, pass.spec().bucket, false, blk + "hidden_norm");
  pass.append(kernels::store_record(pass.select(), {ResourceKind::normed}, pass.config().width, records_of(pass.context(), layer),
                                    pass.spec().bucket, blk + "store_hidden"));
}

/// The residual stream becomes the input of the head's layer.
void start_head(PassDispatches& pass) {
  const PassContext& context = pass.context();
  const model::PredictionWeights& own = context.weights.predictions.front();
  const std::uint32_t layer = layer_of_head(pass), rows = pass.spec().bucket;
  const std::string blk = fmt::format("blk.{}.", layer);
  const Resource embeddings = pass.other_residual();
  pass.append(kernels::embed(pass.select(), own.embedding, rows, embeddings, context.config.embedding_scale, blk + "embed"));
  pass.append(kernels::prediction_input(pass.select(),
                                        {.embeddings = embeddings,
                                         .records = records_of(context, layer),
                                         .embedding_norm = own.embedding_norm,
                                         .hidden_norm = own.hidden_norm,
                                         .n = context.config.width,
                                         .epsilon = context.config.norm_epsilon},
                                        rows, blk + "prediction_input", pass.spec().tree));
  pass.multiply(own.in, {ResourceKind::gate_up}, pass.residual(), {}, blk + "eh_proj");
}

}  // namespace

bool feeds_head(const PassSpec& spec, const model::Config& config) {
  // Rows of keys and values alone have no last hidden state, and where that is the output nothing may take its buffer.
  return !config.prediction_layers.empty() && runs_whole_layers(spec, config) && !spec.kv_only && spec.output != Output::hidden;
}

void store_for_head(PassDispatches& pass, const ByKind<std::uint32_t>& slots) {
  const std::uint32_t layer = layer_of_head(pass);
  start_head(pass);
  std::visit([&](const auto& mixer) { append_store(pass, slots, layer, mixer); }, pass.config().block(layer).mixer);
}

void store_hidden_states(PassDispatches& pass) { store_hidden_states(pass, pass.context().weights.output_norm); }

void append_head(PassDispatches& pass, const ByKind<std::uint32_t>& slots) {
  const std::uint32_t layer = layer_of_head(pass);
  const model::LayerConfig& config = pass.config().block(layer);
  start_head(pass);
  std::visit([&](const auto& mixer) { append_mixer(pass, slots, layer, mixer); }, config.mixer);
  if (config.has_mixer()) pass.set_residual(pass.other_residual());
  std::visit([&](const auto& feedforward) { append_feedforward(pass, layer, feedforward); }, config.feedforward);
  if (config.has_feedforward()) pass.set_residual(pass.other_residual());
  // The next draft follows this one as if it were the model's own state.
  store_hidden_states(pass, pass.context().weights.predictions.front().norm);
}

}  // namespace skipstone::exec
