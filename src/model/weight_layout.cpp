#include "model/weight_layout.h"

#include <algorithm>

#include "gguf/gguf.h"
#include "kernels/weight_format.h"

namespace skipstone::model {
namespace {

std::uint64_t quant_row_bytes(gguf::Type type, std::uint32_t k) {
  const kernels::WeightFormat& format = kernels::weight_format(type);
  return kernels::units_of_row(format, k) * format.quant_bytes;  // plane 1 has less
}

std::string joined_name(const std::vector<const gguf::Tensor*>& tensors) {
  std::string name;
  for (const gguf::Tensor* tensor : tensors) name += (name.empty() ? "" : "+") + tensor->name;
  return name;
}

class Builder {
 public:
  Builder(WeightLayout& layout, std::uint64_t max_range, std::uint32_t interleave)
      : layout_(layout), max_range_(max_range), interleave_(interleave) {}

  std::uint32_t vector(const std::vector<const gguf::Tensor*>& tensors) {
    std::uint64_t length = 0;
    for (const gguf::Tensor* tensor : tensors) length += tensor->elements();
    const kernels::Matrix shape{ordinal(), gguf::Type::f32, 1, static_cast<std::uint32_t>(length), {{0, 1}}};
    layout_.tensors.push_back({tensors, joined_name(tensors), true, shape});
    return shape.tensor;
  }

  std::optional<std::uint32_t> optional_vector(const gguf::Tensor* tensor) {
    return tensor == nullptr ? std::nullopt : std::optional(vector({tensor}));
  }

  std::optional<NormWeights> norm(const Parameter& norm, Norm kind) {
    if (!norm) return std::nullopt;
    const std::uint32_t weight = vector({norm.weight});
    return NormWeights{weight, optional_vector(norm.bias), subtracts_mean(kind)};
  }

  /// Where the matrix is split, experts of a stacked tensor stay whole.
  kernels::Matrix matrix(const std::vector<Parameter>& stack) {
    const gguf::Tensor& first = *stack[0].weight;
    return matrix(stack, first.type, {rows(stack), static_cast<std::uint32_t>(first.row_length())},
                  first.shape[2] > 1 ? first.shape[1] : 1);
  }

  /// A matrix for each expert.
  kernels::Matrix stack(const Parameter& parameter, const Experts& experts) {
    kernels::Matrix m = matrix({parameter});
    layout_.tensors.back().experts = experts.count;
    layout_.tensors.back().experts_used = experts.used;
    return m;
  }

  /// The matrix, and in which order its rows are those of the tensor.
  kernels::Matrix reordered(const Parameter& parameter, std::vector<std::uint32_t> order) {
    kernels::Matrix m = matrix({parameter});
    layout_.tensors.back().order = std::move(order);
    return m;
  }

  /// Of `heads` matrices in one tensor (Latents::fused) the rows of values, or those of keys, turned.
  kernels::Matrix values_of(const Parameter& fused, const Latents& latents, std::uint32_t heads) {
    const std::uint32_t step = latents.key_dim + latents.value_dim;
    kernels::Matrix m = matrix({fused}, fused.weight->type, {heads * latents.value_dim, latents.width}, latents.value_dim);
    for (std::uint32_t row = 0; row < m.n; ++row) {
      layout_.tensors.back().order.push_back(row / latents.value_dim * step + latents.key_dim + row % latents.value_dim);
    }
    return m;
  }
  kernels::Matrix keys_of(const Parameter& fused, const Latents& latents, std::uint32_t heads) {
    const gguf::Type type = fused.weight->type == gguf::Type::f16 ? gguf::Type::f16 : gguf::Type::f32;
    kernels::Matrix m = matrix({fused}, type, {heads * latents.width, latents.key_dim}, latents.width);
    layout_.tensors.back().turned = TurnedRows{latents.key_dim + latents.value_dim, latents.key_dim};
    return m;
  }

  /// The factors of the outputs of matrices that are multiplied together; nullopt where none of them has any. `outputs`: of the only one,
  /// if they are not its rows.
  std::optional<std::uint32_t> factors(const std::vector<Parameter>& stack, std::uint32_t outputs = 0) {
    TensorPlace place{{}, "", true, {ordinal(), gguf::Type::f32, 1, outputs != 0 ? outputs : rows(stack), {{0, 1}}}};
    std::vector<const gguf::Tensor*> named;
    for (const Parameter& each : stack) {
      place.sources.push_back(each.scale);
      place.outputs.push_back(outputs != 0 ? outputs : each.weight->rows());
      if (each.scale != nullptr) named.push_back(each.scale);
    }
    if (named.empty()) return std::nullopt;
    place.name = joined_name(named);
    layout_.tensors.push_back(std::move(place));
    return layout_.tensors.back().matrix.tensor;
  }

  /// Whether the matrices can be one that fits one binding.
  bool stackable(const std::vector<Parameter>& stack) const {
    const gguf::Tensor& first = *stack[0].weight;
    for (const Parameter& each : stack) {
      if (each.weight->type != first.type) return false;
    }
    return quant_row_bytes(first.type, static_cast<std::uint32_t>(first.row_length())) * kernels::padded_rows(rows(stack), interleave_) <=
           max_range_;
  }

 private:
  /// Rows and columns.
  struct Size {
    std::uint32_t n, k;
  };
  /// `whole`: rows that stay together where the matrix is split.
  kernels::Matrix matrix(const std::vector<Parameter>& stack, gguf::Type type, const Size& size, std::uint64_t whole_rows) {
    std::vector<const gguf::Tensor*> tensors;
    tensors.reserve(stack.size());
    for (const Parameter& each : stack) tensors.push_back(each.weight);
    const auto scales = factors(stack, stack.size() == 1 ? size.n : 0);
    kernels::Matrix m{ordinal(), type, size.n, size.k, {}, interleave_, scales};
    // Whole ranges of rows over which the LM head takes the largest (kernels::argmax), and whole words of scales.
    constexpr std::uint64_t wide = 1024, argmax_rows = 32;  // no GPU's range is larger; those of CPU devices are interleave_ rows
    const std::uint64_t most_rows = max_range_ / quant_row_bytes(m.format, m.k), pair = std::uint64_t{interleave_} * 2;
    const std::uint64_t whole = most_rows >= wide ? wide : pair < argmax_rows && most_rows >= argmax_rows ? argmax_rows : pair;
    std::uint64_t most = std::max(pair, most_rows / whole * whole);
    if (whole_rows > 1) most = std::max(whole_rows, most_rows / interleave_ * interleave_ / whole_rows * whole_rows);
    if (kernels::padded_rows(m.n, interleave_) <= most) {
      m.parts = {{0, m.n}};
    } else {
      for (std::uint32_t first = 0; first < m.n; first += static_cast<std::uint32_t>(most)) {
        m.parts.push_back({first, std::min(static_cast<std::uint32_t>(most), m.n - first)});
      }
    }
    layout_.tensors.push_back({tensors, joined_name(tensors), false, m});
    return m;
  }

  std::uint32_t ordinal() const { return static_cast<std::uint32_t>(layout_.tensors.size()); }
  static std::uint32_t rows(const std::vector<Parameter>& stack) {
    std::uint64_t rows = 0;
    for (const Parameter& each : stack) rows += each.weight->rows();
    return static_cast<std::uint32_t>(rows);
  }

  WeightLayout& layout_;
  std::uint64_t max_range_;
  std::uint32_t interleave_;
};

using NamedRoles = std::vector<std::pair<Role, const char*>>;

// Matrices with one input in the longest runs that can be one matrix.
std::vector<Projection> layout_runs(Builder& build, const Parameters& t, const std::string& prefix, const NamedRoles& all) {
  std::vector<Projection> projections;
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < all.size();) {
    std::vector<Parameter> run{t[all[i].first]};
    std::string name = all[i].second;
    for (++i; i < all.size(); ++i) {
      run.push_back(t[all[i].first]);
      if (!build.stackable(run)) {
        run.pop_back();
        break;
      }
      name += all[i].second;
    }
    projections.push_back({build.matrix(run), first, prefix + name});
    first += projections.back().matrix.n;
  }
  return projections;
}

std::vector<Projection> layout_projections(Builder& build, const Parameters& t) {
  if (t[Role::qkv]) return {{build.matrix({t[Role::qkv]}), 0, "attn_qkv"}};
  NamedRoles own{{Role::q, "q"}};
  if (t[Role::k]) own.push_back({Role::k, "k"});
  if (t[Role::v]) own.push_back({Role::v, "v"});
  return layout_runs(build, t, "attn_", own);
}

LatentWeights layout_latents(Builder& build, const Attention& attention, const Parameters& t) {
  const Latents& latents = attention.latents;
  LatentWeights w;
  if (t[Role::q_a]) w.q_a = build.matrix({t[Role::q_a]}), w.q_b = build.matrix({t[Role::q_b]});
  const Parameter& fused = t[Role::kv_b];
  w.k_b = fused ? build.keys_of(fused, latents, attention.heads) : build.matrix({t[Role::k_b]});
  w.v_b = fused ? build.values_of(fused, latents, attention.heads) : build.matrix({t[Role::v_b]});
  return w;
}

// One function for each kind of mixer and feed-forward network. The order of its tensors is that of the device's memory.

AttentionWeights layout_part(Builder& build, const Attention& attention, const Parameters& t) {
  AttentionWeights w;
  if (attention.has_latents()) {
    NamedRoles all{{Role::kv_a, "kv_a"}};
    if (t[Role::q]) all.emplace_back(Role::q, "_q");
    w.projections = layout_runs(build, t, "attn_", all);
    w.latents = layout_latents(build, attention, t);
    w.q_norm = build.optional_vector(t[Role::q_norm].weight);
    w.k_norm = build.optional_vector(t[Role::k_norm].weight);
    w.o = build.matrix({t[Role::o]});
    w.o_bias = build.optional_vector(t[Role::o].bias);
    return w;
  }
  w.projections = layout_projections(build, t);
  // Models have the biases of Q, K and V all or none (find_tensors checks it).
  std::vector<const gguf::Tensor*> biases;
  for (const Role role : {Role::q, Role::k, Role::v}) {
    if (t[role].bias != nullptr) biases.push_back(t[role].bias);
  }
  if (!biases.empty()) w.qkv_bias = build.vector(biases);
  w.q_norm = build.optional_vector(t[Role::q_norm].weight);
  w.k_norm = build.optional_vector(t[Role::k_norm].weight);
  w.o = build.matrix({t[Role::o]});
  w.o_bias = build.optional_vector(t[Role::o].bias);
  w.sinks = build.optional_vector(t[Role::sinks].weight);
  return w;
}

ShortConvWeights layout_part(Builder& build, const ShortConv&, const Parameters& t) {
  ShortConvWeights w;
  w.in = layout_runs(build, t, "shortconv_", {{Role::shortconv_in, "in"}});
  w.taps = build.vector({t[Role::shortconv_taps].weight});
  w.out = build.matrix({t[Role::shortconv_out]});
  return w;
}

/// The rows of beta, then of alpha, in a matrix that has them by key head.
std::vector<std::uint32_t> rate_rows(const GatedDeltaNet& net) {
  const std::uint32_t group = net.value_heads / net.key_heads;
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < 2 * net.value_heads; ++i) {
    const std::uint32_t alpha = i / net.value_heads, head = i % net.value_heads;
    rows.push_back((2 * (head / group) + alpha) * group + head % group);
  }
  return rows;
}

GatedDeltaNetWeights layout_part(Builder& build, const GatedDeltaNet& net, const Parameters& t) {
  GatedDeltaNetWeights w;
  if (net.fused_rates) {
    w.in = layout_runs(build, t, "ssm_", {{Role::ssm_gate, "gate"}, {Role::qkv, "_qkv"}});
    w.in.push_back({build.reordered(t[Role::ssm_rates], rate_rows(net)), net.value_width() + net.channels(), "ssm_ba"});
  } else {
    w.in = layout_runs(build, t, "ssm_",
                       {{Role::ssm_gate, "gate"}, {Role::qkv, "_qkv"}, {Role::ssm_beta, "_beta"}, {Role::ssm_alpha, "_alpha"}});
  }
  w.taps = build.vector({t[Role::ssm_taps].weight});
  w.dt_bias = build.vector({t[Role::ssm_dt].weight});
  w.decay_rate = build.vector({t[Role::ssm_a].weight});
  w.norm = build.vector({t[Role::ssm_norm].weight});
  w.out = build.matrix({t[Role::ssm_out]});
  return w;
}

Mamba2Weights layout_part(Builder& build, const Mamba2&, const Parameters& t) {
  Mamba2Weights w;
  w.in = layout_runs(build, t, "ssm_", {{Role::ssm_in, "in"}});
  w.taps = build.vector({t[Role::ssm_taps].weight});
  w.taps_bias = build.vector({t[Role::ssm_taps].bias});
  w.dt_bias = build.vector({t[Role::ssm_dt].weight});
  w.decay_rate = build.vector({t[Role::ssm_a].weight});
  w.skip = build.vector({t[Role::ssm_d].weight});
  w.norm = build.vector({t[Role::ssm_norm].weight});
  w.out = build.matrix({t[Role::ssm_out]});
  return w;
}

std::monostate layout_part(Builder&, const std::monostate&, const Parameters&) { return {}; }

MlpWeights layout_part(Builder& build, const Mlp&, const Parameters& t) {
  MlpWeights w;
  const Parameter &gate = t[Role::gate], &up = t[Role::up];
  if (t[Role::gate_up]) {
    w.gate_up = build.matrix({t[Role::gate_up]});
  } else if (!gate) {
    w.up = build.matrix({up});
    w.gate_up_bias = build.optional_vector(up.bias);
  } else if (gate.bias == nullptr && up.bias == nullptr && build.stackable({gate, up})) {
    w.gate_up = build.matrix({gate, up});
  } else {
    w.gate = build.matrix({gate});
    w.up = build.matrix({up});
    if (gate.bias != nullptr) w.gate_up_bias = build.vector({gate.bias, up.bias});
  }
  w.down = build.matrix({t[Role::down]});
  w.down_bias = build.optional_vector(t[Role::down].bias);
  return w;
}

ExpertsWeights layout_part(Builder& build, const Experts& experts, const Parameters& t) {
  ExpertsWeights w;
  const Parameter &router = t[Role::router], &gate = t[Role::expert_gate], &down = t[Role::expert_down],
                  &up = t[experts.fused_gate_up ? Role::expert_gate_up : Role::expert_up];
  if (experts.has_shared_gate() && router.bias == nullptr) {
    w.router = layout_runs(build, t, "ffn_", {{Role::router, "router"}, {Role::shared_router, "_shared"}});
  } else {
    w.router.push_back({build.matrix({router}), 0, "ffn_router"});
    if (experts.has_shared_gate()) w.router.push_back({build.matrix({t[Role::shared_router]}), experts.count, "ffn_router_shared"});
  }
  w.router_bias = build.optional_vector(router.bias);
  w.router_norm = build.optional_vector(t[Role::router_norm].weight);
  w.input_norm = build.optional_vector(t[Role::expert_norm].weight);
  w.output_norm = build.optional_vector(t[Role::expert_post_norm].weight);
  w.shared_output_norm = build.optional_vector(t[Role::shared_post_norm].weight);
  w.correction = build.optional_vector(t[Role::router_correction].weight);
  if (experts.latent != 0) w.latent_down = build.matrix({t[Role::latent_down]});
  if (gate) w.gate = build.stack(gate, experts);
  w.gate_bias = build.optional_vector(gate.bias);
  w.up = build.stack(up, experts);
  w.up_bias = build.optional_vector(up.bias);
  w.down = build.stack(down, experts);
  w.down_bias = build.optional_vector(down.bias);
  if (experts.latent != 0) w.latent_up = build.matrix({t[Role::latent_up]});
  if (experts.shared_width == 0) return w;
  Parameters shared;
  shared[Role::gate] = t[Role::shared_gate];
  shared[Role::up] = t[Role::shared_up];
  shared[Role::down] = t[Role::shared_down];
  w.shared = layout_part(build, Mlp{.width = experts.shared_width, .activation = experts.activation}, shared);
  return w;
}

LayerWeights layout_layer(Builder& build, const LayerConfig& layer, const Parameters& t) {
  LayerWeights w;
  w.attention_norm = build.norm(t[Role::attention_norm], layer.norm_before);
  std::visit([&](const auto& mixer) { w.mixer = layout_part(build, mixer, t); }, layer.mixer);
  w.attention_post_norm = build.norm(t[Role::attention_post_norm], layer.norm_after);
  w.ffn_norm = layer.parallel ? w.attention_norm : build.norm(t[Role::ffn_norm], layer.norm_before);
  std::visit([&](const auto& feedforward) { w.feedforward = layout_part(build, feedforward, t); }, layer.feedforward);
  w.ffn_post_norm = build.norm(t[Role::ffn_post_norm], layer.norm_after);
  if (t[Role::token_gate]) {
    w.token_addition = {build.matrix({t[Role::token_gate]}), build.matrix({t[Role::token_out]}),
                        build.vector({t[Role::token_post_norm].weight})};
  }
  w.output_scale = build.optional_vector(t[Role::output_scale].weight);
  return w;
}

PredictionWeights layout_prediction(Builder& build, const Parameters& t, const WeightLayout& model) {
  PredictionWeights w;
  w.embedding = t[Role::prediction_embedding] ? build.matrix({t[Role::prediction_embedding]}) : model.embedding;
  w.output = t[Role::prediction_output] ? build.matrix({t[Role::prediction_output]}) : model.output;
  w.embedding_norm = build.vector({t[Role::prediction_embedding_norm].weight});
  w.hidden_norm = build.vector({t[Role::prediction_hidden_norm].weight});
  w.in = build.matrix({t[Role::prediction_in]});
  w.norm = build.norm(t[Role::prediction_norm], Norm::rms).value_or(model.output_norm);
  return w;
}

}  // namespace

WeightLayout layout_weights(const Config& config, const ModelTensors& tensors, std::uint64_t max_range, std::uint32_t interleave) {
  WeightLayout layout;
  Builder build(layout, max_range, interleave);
  const Parameters& model = tensors.model;
  layout.embedding = build.matrix({model[Role::embedding]});
  if (model[Role::token_embedding]) {
    layout.token_inputs = {build.matrix({model[Role::token_embedding]}), build.matrix({model[Role::token_projection]}),
                           build.vector({model[Role::token_norm].weight})};
  }
  for (std::size_t layer = 0; layer < tensors.layers.size(); ++layer) {
    layout.first_tensors.push_back(static_cast<std::uint32_t>(layout.tensors.size()));
    layout.layers.push_back(layout_layer(build, config.layers[layer], tensors.layers[layer]));
  }
  layout.first_tensors.push_back(static_cast<std::uint32_t>(layout.tensors.size()));
  layout.output_norm = *build.norm(model[Role::output_norm], config.layers.front().norm_before);
  const Parameter& output = model[Role::output];
  if (output.weight == model[Role::embedding].weight) {
    layout.output = layout.embedding;
    layout.output.factors = build.factors({output});
  } else {
    layout.output = build.matrix({output});
  }
  layout.output_bias = build.optional_vector(model[Role::output].bias);
  layout.first_of_heads = static_cast<std::uint32_t>(layout.tensors.size());
  for (std::size_t head = 0; head < tensors.prediction_layers.size(); ++head) {
    const Parameters& t = tensors.prediction_layers[head];
    layout.predictions.push_back(layout_prediction(build, t, layout));
    layout.layers.push_back(layout_layer(build, config.prediction_layers[head], t));
  }
  return layout;
}

}  // namespace skipstone::model
