#include "exec/pass_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "abi/round.h"
#include "abi/step_state.h"
#include "base/status.h"
#include "exec/rope_table.h"

namespace skipstone::exec {
namespace {

using kernels::Dispatch;
using kernels::Resource;
using kernels::ResourceKind;

kernels::Activation activation_of(model::Mlp mlp) {
  switch (mlp) {
    case model::Mlp::gated_silu:
      return kernels::Activation::gated_silu;
    case model::Mlp::gated_gelu:
      return kernels::Activation::gated_gelu;
    case model::Mlp::gelu:
      break;
  }
  return kernels::Activation::gelu;
}

// The attention shape of layer `layer`, with its slots and page tables.
kernels::AttentionShape of_layer(kernels::AttentionShape shape, const model::Config& config, const CacheSlots& slots, std::uint32_t layer) {
  const bool sliding = config.has_window(layer, shape.context);
  shape.slots = sliding ? slots.sliding : slots.full;
  shape.tables = sliding ? table_entries(shape.context) : 0;
  return shape;
}

// One pass being built. The residual stream alternates between two buffers, so that a sublayer's input is still there when its output is
// (the cosine reduction needs both, and a residual add never reads what it writes).
class Pass {
 public:
  Pass(const model::Config& config, const model::WeightLayout& weights, const kernels::AttentionShape& attention, const CacheSlots& slots,
       const kernels::Selector& select, const PassSpec& spec)
      : config_(config), weights_(weights), attention_(attention), slots_(slots), select_(select), spec_(spec) {}

  /// Of the layers of the pass, [begin, end) are local.
  void build(Plan& plan, std::uint32_t begin, std::uint32_t end) {
    const StageWork work = work_of(spec_, begin, end);
    const bool back = spec_.direction == Direction::returning;
    if (!back && work.begins && spec_.layers.begin > 0) {
      current_ = {ResourceKind::kept};
    } else if (!back && work.begins) {
      append(kernels::embed(select_, weights_.embedding, spec_.bucket, residual(), config_.embedding_scale, "embed"));
    }
    const std::uint32_t first = std::max(spec_.layers.begin, begin), last = back ? first : std::min(spec_.layers.end, end);
    for (std::uint32_t layer = first; layer < last; ++layer) {
      plan.layer_starts.push_back(dispatches_.size());
      if (spec_.kv_only) {
        store_kv(layer);
        continue;
      }
      if (spec_.layers.runs_attention(layer)) attention_sublayer(layer);
      if (spec_.layers.runs_mlp(layer)) mlp_sublayer(layer);
      if (layer + 1 == spec_.keep_after) append(kernels::keep_rows(select_, residual(), config_.width, spec_.bucket, "keep_rows"));
    }
    if (spec_.cosines != Cosines::none && !back) {
      append(kernels::cosine_sum(select_, spec_.cosines == Cosines::all ? 2 * config_.layer_count() : config_.layer_count(), "cosine_sum"));
    }
    plan.layer_starts.push_back(dispatches_.size());
    plan.handed_on = residual();
    if (back || (begin == 0 && !work.hands_on)) output();
    follow();
    plan.dispatches = std::move(dispatches_);
  }

 private:
  Resource residual() const { return current_; }
  kernels::Keys keys() const { return spec_.tree ? kernels::Keys::tree : spec_.window ? kernels::Keys::window : kernels::Keys::text; }
  /// The kernels of decoding normalise and activate by themselves, except those on matrix units.
  bool fused() const { return !spec_.prompt && select_.math() == kernels::Math::f32; }
  Resource other_residual() const { return {ResourceKind::residual, current_ == Resource{ResourceKind::residual, 0} ? 1u : 0u}; }

  void append(Dispatch dispatch) { dispatches_.push_back(std::move(dispatch)); }
  void append(std::vector<Dispatch> several) {
    for (Dispatch& dispatch : several) append(std::move(dispatch));
  }

  void multiply(const kernels::Matrix& weights, Resource x, Resource y, const kernels::MatvecFusion& fusion, const std::string& label) {
    append(spec_.prompt                          ? kernels::prompt_matmul(select_, weights, x, y, spec_.bucket, fusion, label)
           : select_.on_matrices(weights.format) ? kernels::matrix_product(select_, weights, x, y, spec_.bucket, fusion, label)
                                                 : kernels::matvec(select_, weights, x, y, spec_.bucket, fusion, label));
  }

  /// The input of a matrix whose sublayer may normalise the residual stream first; the skinny kernels normalise (RMS) themselves.
  std::pair<Resource, std::optional<kernels::MatvecNorm>> normalise(const std::optional<model::NormWeights>& norm,
                                                                    const std::string& label) {
    if (!norm) return {residual(), {}};
    if (!norm->bias && fused()) return {residual(), kernels::MatvecNorm{norm->weight, config_.norm_epsilon}};
    normalise(residual(), *norm, spec_.bucket, false, label);
    return {{ResourceKind::normed}, {}};
  }

  void normalise(Resource x, const model::NormWeights& norm, std::uint32_t rows, bool last_row, const std::string& label) {
    if (!norm.bias) {
      append(
          kernels::rms_norm(select_, x, norm.weight, {ResourceKind::normed}, config_.width, rows, config_.norm_epsilon, last_row, label));
      return;
    }
    append(kernels::norm(select_,
                         {.x = x,
                          .out = {ResourceKind::normed},
                          .weight = norm.weight,
                          .bias = norm.bias,
                          .n = config_.width,
                          .epsilon = config_.norm_epsilon,
                          .last_row = last_row},
                         rows, label));
  }

  /// The last matrix of a sublayer: its output is added to the residual stream, normalised first in families that do so.
  void add_to_residual(const kernels::Matrix& matrix, Resource x, const std::optional<std::uint32_t>& bias,
                       const std::optional<model::NormWeights>& norm, const std::string& label, const std::string& norm_label) {
    if (!norm) {
      multiply(matrix, x, other_residual(), {.bias_tensor = bias, .residual = residual(), .scale = config_.residual_scale}, label);
      return;
    }
    multiply(matrix, x, {ResourceKind::normed}, {.bias_tensor = bias}, label);
    append(kernels::norm(select_,
                         {.x = {ResourceKind::normed},
                          .out = other_residual(),
                          .weight = norm->weight,
                          .bias = norm->bias,
                          .residual = residual(),
                          .n = config_.width,
                          .epsilon = config_.norm_epsilon,
                          .scale = config_.residual_scale},
                         spec_.bucket, norm_label));
  }

  void normalise_qk(const model::LayerWeights& w, model::QkNorm kind, const std::string& label) {
    if (kind == model::QkNorm::none) return;
    const bool heads = kind == model::QkNorm::head;
    append(kernels::head_norm(select_,
                              {.q_weight = *w.q_norm,
                               .k_weight = *w.k_norm,
                               .q_parts = heads ? config_.heads : 1,
                               .k_parts = heads ? config_.kv_heads : 1,
                               .q_length = heads ? config_.head_dim : config_.q_width(),
                               .k_length = heads ? config_.head_dim : config_.kv_width(),
                               .stride = kernels::padded(attention_.qkv_width()),
                               .epsilon = config_.norm_epsilon},
                              spec_.bucket, label));
  }

  void activate(kernels::Activation activation, const std::string& blk) {
    const char* name = activation == kernels::Activation::gelu         ? "gelu"
                       : activation == kernels::Activation::gated_gelu ? "geglu"
                                                                       : "swiglu";
    append(kernels::activate(select_, activation, config_.ffn, spec_.bucket, blk + name));
  }

  kernels::AttentionLayer attention_layer(std::uint32_t layer) const {
    const model::LayerSpec spec = config_.layer(layer);
    const RopeRows rows = rope_rows(config_, attention_.context, spec);
    return {layer, spec.rotates, rows.k, rows.q, config_.has_window(layer, attention_.context) ? spec.window : 0};
  }

  /// Q, K and V of the residual stream; K and V go into the cache.
  void store_kv(std::uint32_t layer) {
    const model::LayerWeights& w = weights_.layers[layer];
    const std::string blk = fmt::format("blk.{}.", layer);
    const auto [x, norm] = normalise(w.attention_norm, blk + "attn_norm");
    for (const model::Projection& p : w.projections) {
      multiply(p.matrix, x, {ResourceKind::qkv},
               {.norm = norm, .bias_tensor = w.qkv_bias, .y_first = p.first, .y_width = attention_.qkv_width()}, blk + p.name);
    }
    const model::LayerSpec layer_spec = config_.layer(layer);
    normalise_qk(w, layer_spec.qk_norm, blk + "qk_norm");
    append(kernels::rope_store(select_, of_layer(attention_, config_, slots_, layer), attention_layer(layer), spec_.bucket,
                               blk + (layer_spec.rotates ? "rope_store" : "store"), spec_.tree));
  }

  void attention_sublayer(std::uint32_t layer) {
    store_kv(layer);
    const model::LayerWeights& w = weights_.layers[layer];
    const std::string blk = fmt::format("blk.{}.", layer);
    const std::uint32_t rows = spec_.bucket;
    if (!spec_.prompt) {
      append(kernels::attention(select_, of_layer(attention_, config_, slots_, layer), attention_layer(layer), rows, blk + "attention", keys()));
    } else {
      append(kernels::attention_prefill(select_, of_layer(attention_, config_, slots_, layer), attention_layer(layer), rows, blk + "attention"));
    }
    add_to_residual(w.o, {ResourceKind::attended}, w.o_bias, w.attention_post_norm, blk + "attn_output", blk + "post_attention_norm");
    if (spec_.cosines != Cosines::none) {
      append(kernels::cosine(select_, residual(), other_residual(), config_.width, rows, layer, blk + "cosine"));
    }
    current_ = other_residual();
  }

  void mlp_sublayer(std::uint32_t layer) {
    const model::LayerWeights& w = weights_.layers[layer];
    const std::string blk = fmt::format("blk.{}.", layer);
    const auto [x, norm] = normalise(w.ffn_norm, blk + "ffn_norm");
    const kernels::Activation activation = activation_of(config_.layer(layer).mlp);
    if (w.gate_up && w.gate_up->parts.size() == 1 && fused()) {
      multiply(*w.gate_up, x, {ResourceKind::activated}, {.norm = norm, .activation = activation}, blk + "ffn_gate_up");
    } else if (w.gate_up) {
      multiply(*w.gate_up, x, {ResourceKind::gate_up}, {.norm = norm}, blk + "ffn_gate_up");
      activate(activation, blk);
    } else if (!w.gate && fused()) {
      multiply(*w.up, x, {ResourceKind::activated}, {.norm = norm, .bias_tensor = w.gate_up_bias, .activation = activation},
               blk + "ffn_up");
    } else {
      const std::uint32_t all = w.gate ? 2 * config_.ffn : config_.ffn;
      if (w.gate) {
        multiply(*w.gate, x, {ResourceKind::gate_up}, {.norm = norm, .bias_tensor = w.gate_up_bias, .y_width = all}, blk + "ffn_gate");
      }
      multiply(*w.up, x, {ResourceKind::gate_up},
               {.norm = norm, .bias_tensor = w.gate_up_bias, .y_first = all - config_.ffn, .y_width = all}, blk + "ffn_up");
      activate(activation, blk);
    }
    add_to_residual(w.down, {ResourceKind::activated}, w.down_bias, w.ffn_post_norm, blk + "ffn_down", blk + "post_ffw_norm");
    if (spec_.cosines == Cosines::all) {  // after those of all attention sublayers
      append(
          kernels::cosine(select_, residual(), other_residual(), config_.width, spec_.bucket, config_.layer_count() + layer, blk + "ffn_cosine"));
    }
    current_ = other_residual();
  }

  void output() {
    const std::uint32_t rows = spec_.output_rows();
    if (rows == 0) return;
    Resource x = residual();
    kernels::MatvecFusion fusion{.norm = kernels::MatvecNorm{weights_.output_norm.weight, config_.norm_epsilon},
                                 .bias_tensor = weights_.output_bias,
                                 .scale = config_.logit_scale,
                                 .softcap = config_.final_softcap};
    // Only the norm's kernel finds the last row of a prompt. A prompt's output is computed as in decoding (docs/numerics.md).
    if (select_.math() == kernels::Math::matrix || spec_.last_row_only || spec_.output == Output::hidden || weights_.output_norm.bias) {
      normalise(x, weights_.output_norm, rows, spec_.last_row_only, "output_norm");
      x = {ResourceKind::normed};
      fusion.norm.reset();
    }
    if (spec_.output == Output::hidden) return;
    if (select_.on_matrices(weights_.output.format) && fusion.softcap == 0.0f) {  // the tiled kernels have no softcap
      append(kernels::matrix_product(select_, weights_.output, x, {ResourceKind::logits}, rows, fusion, "output"));
      if (spec_.output == Output::argmax) append(kernels::argmax_of_logits(select_, config_.vocabulary, rows, "output"));
    } else if (spec_.output == Output::argmax) {
      append(kernels::argmax(select_, weights_.output, x, rows, fusion, "output"));
    } else {
      append(kernels::matvec(select_, weights_.output, x, {ResourceKind::logits}, rows, fusion, "output"));
    }
    if (spec_.output == Output::candidates) append(kernels::candidates(select_, config_.vocabulary, rows, "candidates"));
  }

  void follow() {
    if (spec_.step == RoundStep::verify) append(kernels::accept(spec_.bucket, "accept"));
    if (spec_.step == RoundStep::draft || spec_.step == RoundStep::kept_row) {
      append(kernels::advance(attention_.chunk, spec_.step == RoundStep::draft, spec_.keep_after > 0, "advance"));
    }
  }

  const model::Config& config_;
  const model::WeightLayout& weights_;
  kernels::AttentionShape attention_;
  CacheSlots slots_;
  const kernels::Selector& select_;
  const PassSpec& spec_;
  Resource current_{ResourceKind::residual, 0};
  std::vector<Dispatch> dispatches_;
};

}  // namespace

std::uint32_t SequenceShape::chunk_for(const model::Config& config, std::uint32_t context) {
  SequenceShape shape{.context = context};
  while (attention_shape(config, shape).partial_bytes(STEP_VERIFY_ROWS) > (std::uint64_t{32} << 20) && shape.chunk < 1024) shape.chunk *= 2;
  return shape.chunk;
}

kernels::AttentionShape attention_shape(const model::Config& config, const SequenceShape& sequence) {
  kernels::AttentionShape shape;
  shape.heads = config.heads;
  shape.kv_heads = config.kv_heads;
  shape.head_dim = config.head_dim;
  shape.rope_dim = config.rope_dim;
  shape.context = sequence.context;
  shape.chunk = sequence.chunk;
  shape.kv_format = sequence.kv_format;
  shape.rope_halves = config.rope_pairs == model::RopePairs::halves;
  shape.scale = config.attention_scale;
  shape.softcap = config.attention_softcap;
  return shape;
}

PassBuilder::PassBuilder(const model::Config& config, const model::WeightLayout& weights, const SequenceShape& sequence,
                         const kernels::Selector& select)
    : config_(config),
      weights_(weights),
      attention_(attention_shape(config, sequence)),
      select_(select),
      begin_(sequence.begin),
      end_(sequence.end_of(config.layer_count())) {}

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
  return attention_.heads / select_.attention(attention_.group(), attention_.head_dim, attention_.chunk, bucket).heads;
}

Plan PassBuilder::build(const PassSpec& spec, const CacheSlots& slots) const {
  const bool uses_hidden_states = spec.layers.begin > 0 || spec.keep_after > 0;
  const bool hidden_states_fit = spec.keep_after <= (spec.layers.begin > 0 ? spec.layers.end : spec.layers.whole_prefix());
  const bool tree_fits = !spec.tree || spec.step == RoundStep::none;
  const bool window_fits = !spec.window || (spec.step == RoundStep::none && !spec.tree);
  const bool bucket_exists = spec.prompt ? kernels::prompt_bucket_for(spec.bucket) == spec.bucket
                                         : spec.bucket <= STEP_VERIFY_ROWS && kernels::bucket_for(spec.bucket) == spec.bucket;
  const bool prompt_fits = !spec.prompt || (!uses_hidden_states && !spec.tree && !spec.window && spec.step == RoundStep::none);
  if (!tree_fits || !window_fits || !prompt_fits || !bucket_exists || spec.layers.end > config_.layer_count() ||
      spec.output_rows() > STEP_VERIFY_ROWS || (uses_hidden_states && !hidden_states_fit)) {
    fail(Code::internal, "there is no {}pass over layers {}-{} with {} rows, output {}, keeping rows after layer {}",
         spec.prompt ? "prompt " : "", spec.layers.begin, spec.layers.end, spec.bucket, to_string(spec.output), spec.keep_after);
  }
  Plan plan;
  plan.spec = spec;
  Pass(config_, weights_, attention_, slots, select_, spec).build(plan, begin_, end_);
  // A draft's `advance` always runs: it may not depend on what it writes.
  if (spec.step == RoundStep::draft) plan.condition = {ROUND_DRAFTING, plan.dispatches.size() - 1};
  if (spec.step == RoundStep::verify)
    plan.condition = {1 + static_cast<std::uint32_t>(std::countr_zero(spec.bucket)), plan.dispatches.size()};
  return plan;
}

std::vector<Dispatch> PassBuilder::build_move(const CacheSlots& slots) const {
  std::vector<Dispatch> all;
  for (std::uint32_t layer = begin_; layer < end_; ++layer) {
    for (Dispatch& dispatch : kernels::move_kv(select_, of_layer(attention_, config_, slots, layer), layer, fmt::format("blk.{}.move_kv", layer))) {
      all.push_back(std::move(dispatch));
    }
  }
  return all;
}

}  // namespace skipstone::exec
