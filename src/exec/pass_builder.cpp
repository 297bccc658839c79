#include "exec/pass_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <variant>

#include "abi/round.h"
#include "abi/step_state.h"
#include "base/status.h"
#include "exec/pass_dispatches.h"

namespace skipstone::exec {
namespace {

using kernels::Dispatch;
using kernels::Resource;
using kernels::ResourceKind;

/// One pass: its layers, and what comes before and after them.
class Pass {
 public:
  Pass(const PassContext& context, const ByKind<std::uint32_t>& slots, const PassSpec& spec)
      : context_(context), slots_(slots), spec_(spec), pass_(context, spec) {}

  /// Of the layers of the pass, [begin, end) are local.
  void build(Plan& plan, std::uint32_t begin, std::uint32_t end) {
    if (spec_.predicts) return build_prediction(plan);
    const StageWork work = work_of(spec_, begin, end);
    const std::uint32_t layers = context_.config.layer_count();
    const bool back = spec_.direction == Direction::returning;
    if (!back && work.begins) start();
    const std::uint32_t first = std::max(spec_.layers.begin, begin), last = back ? first : std::min(spec_.layers.end, end);
    if (!back && writes_states(spec_, context_.config, context_.sequence)) {
      for (std::uint32_t layer = begin; layer < first; ++layer) advance_states(layer);
    }
    for (std::uint32_t layer = first; layer < last; ++layer) {
      plan.layer_starts.push_back(pass_.size());
      append_layer(layer);
    }
    if (spec_.cosines != Cosines::none && !back) {
      pass_.append(kernels::cosine_sum(context_.select, spec_.cosines == Cosines::all ? 2 * layers : layers, "cosine_sum"));
    }
    plan.layer_starts.push_back(pass_.size());
    plan.handed_on = pass_.residual();
    const bool feeds = feeds_head(spec_, context_.config);
    if (feeds) store_hidden_states(pass_);
    if (back || (begin == 0 && !work.hands_on)) output(context_.weights.output_norm, context_.weights.output);
    if (feeds) store_for_head(pass_, slots_);
    follow();
    plan.dispatches = pass_.take();
  }

  /// The pass of a head.
  void build_prediction(Plan& plan) {
    plan.layer_starts.push_back(0);
    append_head(pass_, slots_);
    plan.layer_starts.push_back(pass_.size());
    output(context_.weights.predictions.front().norm, context_.weights.predictions.front().output);
    follow();
    plan.dispatches = pass_.take();
  }

 private:
  void start() {
    const bool from_kept = spec_.layers.begin > 0, token_inputs = context_.weights.token_inputs && !spec_.kv_only;
    if (from_kept) pass_.set_residual({ResourceKind::kept});
    const Resource embeddings = from_kept ? pass_.other_residual() : pass_.residual();
    if (!from_kept || token_inputs) {
      pass_.append(
          kernels::embed(context_.select, context_.weights.embedding, spec_.bucket, embeddings, context_.config.embedding_scale, "embed"));
    }
    if (token_inputs) append_token_inputs(pass_, embeddings);
  }

  void append_layer(std::uint32_t layer) {
    const model::LayerConfig& config = context_.config.layers[layer];
    if (spec_.kv_only) return std::visit([&](const auto& mixer) { append_store(pass_, slots_, layer, mixer); }, config.mixer);
    if (!spec_.layers.runs_attention(layer) && context_.config.has_readers(layer, spec_.layers.end)) {
      std::visit([&](const auto& mixer) { append_store(pass_, slots_, layer, mixer); }, config.mixer);
    }
    if (spec_.layers.runs_attention(layer)) {
      if (config.parallel) pass_.set_layer_input(pass_.residual());
      std::visit([&](const auto& mixer) { append_mixer(pass_, slots_, layer, mixer); }, config.mixer);
      finish_sublayer(config.has_mixer(), spec_.cosines != Cosines::none, layer, fmt::format("blk.{}.cosine", layer));
    }
    if (spec_.layers.runs_mlp(layer)) {
      std::visit([&](const auto& feedforward) { append_feedforward(pass_, layer, feedforward); }, config.feedforward);
      // The cosines follow those of all mixers.
      finish_sublayer(config.has_feedforward(), spec_.cosines == Cosines::all, context_.config.layer_count() + layer,
                      fmt::format("blk.{}.ffn_cosine", layer));
    }
    pass_.set_layer_input({});
    if (layer + 1 == spec_.keep_after) {
      pass_.append(kernels::keep_rows(context_.select, pass_.residual(), context_.config.width, spec_.bucket, "keep_rows"));
    }
  }

  /// The states of a layer before those of the pass.
  void advance_states(std::uint32_t layer) {
    std::visit([&](const auto& mixer) { append_advance(pass_, layer, mixer); }, context_.config.layers[layer].mixer);
  }

  /// The residual stream continues after a mixer or feed-forward network, as it is if the layer has none (`exists`); `index`: of its
  /// cosine, if that is reduced.
  void finish_sublayer(bool exists, bool cosine, std::uint32_t index, const std::string& label) {
    const Resource after = exists ? pass_.other_residual() : pass_.residual();
    if (cosine) pass_.append(kernels::cosine(context_.select, pass_.residual(), after, context_.config.width, spec_.bucket, index, label));
    pass_.set_residual(after);
  }

  void output(const model::NormWeights& norm, const kernels::Matrix& matrix) {
    const std::uint32_t rows = spec_.output_rows();
    if (rows == 0) return;
    Resource x = pass_.residual();
    kernels::MatvecFusion fusion{.norm = kernels::MatvecNorm{norm.weight, context_.config.norm_epsilon},
                                 .bias_tensor = context_.weights.output_bias,
                                 .scale = context_.config.logit_scale,
                                 .softcap = context_.config.final_softcap};
    // Only the norm's kernel finds the last row of a prompt. A prompt's output is computed as in decoding (docs/numerics.md).
    if (context_.select.math() == kernels::Math::matrix || spec_.last_row_only || spec_.output == Output::hidden || norm.centred) {
      pass_.normalise(x, norm, rows, spec_.last_row_only, "output_norm");
      x = {ResourceKind::normed};
      fusion.norm.reset();
    }
    if (spec_.output == Output::hidden) return;
    if (context_.select.on_matrices(matrix.format) && fusion.softcap == 0.0f) {  // the tiled kernels have no softcap
      pass_.append(kernels::matrix_product(context_.select, matrix, x, {ResourceKind::logits}, rows, fusion, "output"));
      if (spec_.output == Output::argmax)
        pass_.append(kernels::argmax_of_logits(context_.select, context_.config.vocabulary, rows, "output"));
    } else if (spec_.output == Output::argmax) {
      pass_.append(kernels::argmax(context_.select, matrix, x, rows, fusion, "output"));
    } else {
      pass_.append(kernels::matvec(context_.select, matrix, x, {ResourceKind::logits}, rows, fusion, "output"));
    }
    if (spec_.output == Output::candidates)
      pass_.append(kernels::candidates(context_.select, context_.config.vocabulary, rows, "candidates"));
  }

  void follow() {
    if (spec_.step == RoundStep::verify) pass_.append(kernels::accept(spec_.bucket, "accept"));
    if (spec_.step == RoundStep::draft || spec_.step == RoundStep::kept_row) {
      pass_.append(kernels::advance(context_.sequence.chunk, spec_.step == RoundStep::draft, spec_.keep_after > 0, "advance"));
    }
  }

  const PassContext& context_;
  const ByKind<std::uint32_t>& slots_;
  const PassSpec& spec_;
  PassDispatches pass_;
};

}  // namespace

std::uint32_t SequenceShape::chunk_for(const model::Config& config, std::uint32_t context) {
  SequenceShape shape{.context = context};
  while (partial_bytes(config, shape) > (std::uint64_t{32} << 20) && shape.chunk < 1024) shape.chunk *= 2;
  return shape.chunk;
}

kernels::AttentionShape attention_shape(const model::Config& config, const model::Attention& attention, const SequenceShape& sequence) {
  kernels::AttentionShape shape;
  shape.heads = attention.heads;
  shape.kv_heads = attention.kv_heads;
  shape.head_dim = attention.head_dim;
  shape.rope_dim = config.rope_dim_of(attention);
  shape.context = sequence.context;
  shape.chunk = sequence.chunk;
  shape.kv_format = sequence.kv_format;
  shape.rope_halves = config.rope_pairs == model::RopePairs::halves;
  shape.scale = attention.scale;
  shape.softcap = attention.softcap;
  shape.output_gate = attention.output_gate;
  shape.queries_alone = attention.kv_source.has_value();
  if (attention.has_latents()) shape.latent_query = attention.query_dim();
  return shape;
}

kernels::AttentionShape attention_shape(const model::Config& config, const SequenceShape& sequence) {
  return attention_shape(config, config.attention(), sequence);
}

std::uint64_t partial_bytes(const model::Config& config, const SequenceShape& sequence) {
  std::uint64_t most = 0;
  config.for_each_attention([&](const model::Attention& attention) {
    most = std::max(most, attention_shape(config, attention, sequence).partial_bytes(STEP_VERIFY_ROWS));
  });
  return most;
}

namespace {

RecurrentShape shape_of(const model::Config& config, const model::ShortConv& conv) {
  return {.input = 3 * config.width, .record = config.width, .output = config.width, .window = conv.kernel};
}
RecurrentShape shape_of(const model::Config&, const model::GatedDeltaNet& net) {
  const std::uint32_t record = net.channels() + 2 * net.value_heads;
  return {.input = net.value_width() + record,
          .record = record,
          .output = net.value_width(),
          .window = net.kernel,
          .state = kernels::state_floats(net.value_heads, net.key_dim, net.value_dim)};
}
RecurrentShape shape_of(const model::Config&, const model::Mamba2& mamba) {
  const std::uint32_t record = mamba.channels() + mamba.heads;
  return {.input = mamba.width() + record,
          .record = record,
          .output = mamba.width(),
          .window = mamba.kernel,
          .state = kernels::state_floats(mamba.heads, mamba.state_size, mamba.head_dim)};
}
template <typename Mixer>
RecurrentShape shape_of(const model::Config&, const Mixer&) {
  return {};
}

}  // namespace

RecurrentShape recurrent_shape(const model::Config& config) {
  RecurrentShape all;
  for (const model::LayerConfig& layer : config.layers) {
    const RecurrentShape own = std::visit([&](const auto& mixer) { return shape_of(config, mixer); }, layer.mixer);
    all = {.input = std::max(all.input, own.input),
           .record = std::max(all.record, own.record),
           .output = std::max(all.output, own.output),
           .window = std::max(all.window, own.window),
           .state = std::max(all.state, own.state)};
  }
  // A head reads the hidden state of the position before a row.
  if (!config.prediction_layers.empty()) {
    all.record = std::max(all.record, config.width);
    all.window = std::max(all.window, 2u);
  }
  return all;
}

bool runs_whole_layers(const PassSpec& spec, const model::Config& config) {
  if (spec.predicts || spec.window || spec.step == RoundStep::draft || spec.step == RoundStep::kept_row) return false;
  return spec.layers == LayerPlan{.skip_attention = {}, .skip_mlp = {}, .begin = spec.layers.begin, .end = config.layer_count()};
}

bool writes_states(const PassSpec& spec, const model::Config& config, const SequenceShape& sequence) {
  return runs_whole_layers(spec, config) && (spec.layers.begin == 0 || !sequence.is_part_of(config.layer_count()));
}

PassBuilder::PassBuilder(const model::Config& config, const model::WeightLayout& weights, const SequenceShape& sequence,
                         const kernels::Selector& select)
    : context_{config, weights, select, sequence}, begin_(sequence.begin), end_(sequence.end_of(config.layer_count())) {
  if (const char* missing = missing_on_devices(config)) fail(Code::unsupported, "models with {} do not run on devices yet", missing);
  if (config.token_input() != 0 && sequence.is_part_of(config.layer_count())) {
    fail(Code::unsupported, "a model with per-layer embeddings runs on one device alone; take one with --device");
  }
  for (std::uint32_t layer = begin_; layer < end_; ++layer) {
    const auto* attention = std::get_if<model::Attention>(&config.layers[layer].mixer);
    if (attention == nullptr || !attention->kv_source || *attention->kv_source >= begin_) continue;
    fail(Code::unsupported,
         "layer {} reads the keys and values of layer {}, so that one device must have both; a device cannot begin with layer {}, but may "
         "with one up to layer {}",
         layer, *attention->kv_source, begin_, *attention->kv_source);
  }
}

StageWork work_of(const PassSpec& spec, std::uint32_t begin, std::uint32_t end) {
  // Saved hidden states are on the device of the layer before the first one.
  const std::uint32_t from = spec.layers.begin;
  std::uint32_t reach = spec.layers.end;
  while (reach > from && !spec.layers.runs_attention(reach - 1) && !spec.layers.runs_mlp(reach - 1)) --reach;
  StageWork work;
  work.begins = from == 0 ? begin == 0 : begin < from && from <= end;
  work.takes = begin > 0 && from <= begin && reach > begin;
  work.hands_on = work.runs() && reach > end;
  return work;
}

std::uint32_t PassBuilder::attention_groups(std::uint32_t bucket) const {
  std::uint32_t most = 0;
  context_.config.for_each_attention([&](const model::Attention& attention) {
    const kernels::AttentionChoice choice =
        context_.select.attention(attention.group(), attention.head_dim, context_.sequence.chunk, bucket);
    most = std::max(most, attention.heads / choice.heads);
  });
  return most;
}

Plan PassBuilder::build(const PassSpec& spec, const ByKind<std::uint32_t>& slots) const {
  const bool uses_hidden_states = spec.layers.begin > 0 || spec.keep_after > 0;
  const bool hidden_states_fit = spec.keep_after <= (spec.layers.begin > 0 ? spec.layers.end : spec.layers.whole_prefix());
  const bool head_fits = !spec.predicts || (!context_.config.prediction_layers.empty() && !spec.prompt && !spec.tree && !spec.window &&
                                            spec.layers == LayerPlan{} && spec.keep_after == 0);
  const bool tree_fits = !spec.tree || spec.step == RoundStep::none;
  const bool window_fits = !spec.window || (spec.step == RoundStep::none && !spec.tree);
  const bool bucket_exists = spec.prompt ? kernels::prompt_bucket_for(spec.bucket) == spec.bucket
                                         : spec.bucket <= STEP_VERIFY_ROWS && kernels::bucket_for(spec.bucket) == spec.bucket;
  const bool prompt_fits = !spec.prompt || (!uses_hidden_states && !spec.tree && !spec.window && spec.step == RoundStep::none);
  if (!tree_fits || !head_fits || !window_fits || !prompt_fits || !bucket_exists || spec.layers.end > context_.config.layer_count() ||
      spec.output_rows() > STEP_VERIFY_ROWS || (uses_hidden_states && !hidden_states_fit)) {
    fail(Code::internal, "there is no {}pass over layers {}-{} with {} rows, output {}, keeping rows after layer {}",
         spec.prompt ? "prompt " : "", spec.layers.begin, spec.layers.end, spec.bucket, to_string(spec.output), spec.keep_after);
  }
  Plan plan;
  plan.spec = spec;
  Pass(context_, slots, spec).build(plan, begin_, end_);
  // A draft's `advance` always runs: it may not depend on what it writes.
  if (spec.step == RoundStep::draft) plan.condition = {ROUND_DRAFTING, plan.dispatches.size() - 1};
  if (spec.step == RoundStep::verify)
    plan.condition = {1 + static_cast<std::uint32_t>(std::countr_zero(spec.bucket)), plan.dispatches.size()};
  return plan;
}

std::vector<Dispatch> PassBuilder::build_move(const ByKind<std::uint32_t>& slots) const {
  std::vector<Dispatch> all;
  // Heads follow the layers, whole models alone have any.
  for (std::uint32_t layer = begin_; layer < end_ + context_.config.prediction_layers.size(); ++layer) {
    const auto move = [&](const auto& mixer) { return move_accepted(context_, slots, layer, mixer); };
    for (Dispatch& dispatch : std::visit(move, context_.config.block(layer).mixer)) all.push_back(std::move(dispatch));
    if (context_.config.block(layer).predicts) all.push_back(move_records(context_, layer));
  }
  return all;
}

}  // namespace skipstone::exec
