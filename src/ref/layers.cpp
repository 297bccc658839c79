#include "ref/layers.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "ref/operations.h"
#include "ref/recurrent.h"

namespace skipstone::ref {
namespace {

// Each kind has a struct of its weights, which loads and runs it.

struct AttentionWeights {
  model::Attention attention;
  NormWeights q_norm, k_norm;
  Linear q, k, v, o;
  Floats value_norm;  ///< ones; empty where V is not normalised
  Floats sinks;

  AttentionWeights(const model::Attention& like, const model::Parameters& t);
  void store_rows(const LayerRows& at, const Floats& input) const;
  Floats run(const LayerRows& at, const Floats& input) const;
};

struct MlpWeights {
  model::Mlp mlp;
  Linear gate, up, down;

  MlpWeights(const model::Mlp& like, const model::Parameters& t);
  Floats run(const LayerRows& at, const Floats& input) const;
};

AttentionWeights::AttentionWeights(const model::Attention& like, const model::Parameters& t)
    : attention(like), q_norm(t[model::Role::q_norm]), k_norm(t[model::Role::k_norm]), o(t[model::Role::o]) {
  using model::Role;
  if (attention.value_norm) value_norm.assign(attention.head_dim, 1.0f);
  if (attention.sinks) sinks = weights(*t[Role::sinks].weight);
  if (t[Role::qkv]) {
    const model::Parameter& qkv = t[Role::qkv];
    q = Linear(qkv, 0, attention.q_rows());
    k = Linear(qkv, attention.q_rows(), attention.kv_width());
    v = Linear(qkv, attention.q_rows() + attention.kv_width(), attention.kv_width());
  } else {
    q = Linear(t[Role::q]);
    if (t[Role::k]) k = Linear(t[Role::k]);
    if (t[Role::v]) v = Linear(t[Role::v]);
  }
}

/// Stores K and V of the rows.
void AttentionWeights::store_rows(const LayerRows& at, const Floats& input) const {
  const float epsilon = at.config.norm_epsilon;
  const Floats products = k.apply(input, at.rows);
  Floats keys = k_norm.apply(products, epsilon), values = attention.keys_as_values ? products : v.apply(input, at.rows);
  if (!value_norm.empty()) {
    for (std::size_t head = 0; head < values.size() / attention.head_dim; ++head) {
      const Floats before(row_of(values, head, attention.head_dim).begin(), row_of(values, head, attention.head_dim).end());
      rms_norm(before, value_norm, epsilon, row_of(values, head, attention.head_dim));
    }
  }
  for (std::size_t r = 0; r < at.rows && attention.rotates; ++r) {
    rope(row_of(keys, r, attention.kv_width()), attention.head_dim, at.first_position + static_cast<std::uint32_t>(r), at.config,
         attention.local_rope);
  }
  store(at.sequence.keys[at.layer], at.first_position, attention.kv_width(), keys, at.kv_format.k);
  store(at.sequence.values[at.layer], at.first_position, attention.kv_width(), values, at.kv_format.v);
}

MlpWeights::MlpWeights(const model::Mlp& like, const model::Parameters& t) : mlp(like), down(t[model::Role::down]) {
  using model::Role;
  if (t[Role::gate_up]) {
    gate = Linear(t[Role::gate_up], 0, mlp.width);
    up = Linear(t[Role::gate_up], mlp.width, mlp.width);
  } else {
    if (t[Role::gate]) gate = Linear(t[Role::gate]);
    up = Linear(t[Role::up]);
  }
}

/// Leaves the heads in rows of heads and their gates.
Floats take_gates(Floats& queries, const model::Attention& attention) {
  const std::size_t length = attention.head_dim;
  Floats heads, gates;
  for (std::size_t at = 0; at < queries.size(); at += 2 * length) {
    const auto head = row_of(std::as_const(queries), at / length, length), gate = row_of(std::as_const(queries), at / length + 1, length);
    heads.insert(heads.end(), head.begin(), head.end());
    gates.insert(gates.end(), gate.begin(), gate.end());
  }
  queries = std::move(heads);
  return gates;
}

Floats AttentionWeights::run(const LayerRows& at, const Floats& input) const {
  const model::Config& config = at.config;
  const std::uint32_t q_width = attention.q_width(), source = attention.kv_source.value_or(at.layer);
  if (!attention.kv_source) store_rows(at, input);
  if (at.stores_alone) return {};
  observe(at, MatrixInput::attention, input);
  Floats queries = q.apply(input, at.rows), gates;
  if (attention.output_gate) gates = take_gates(queries, attention);
  queries = q_norm.apply(queries, config.norm_epsilon);
  for (std::size_t r = 0; r < at.rows; ++r) {
    const auto position = at.first_position + static_cast<std::uint32_t>(r);
    if (attention.rotates) {
      rope(row_of(queries, r, q_width), attention.head_dim, position, config, attention.local_rope);
    }
    const double temperature = config.temperature_at(position);
    for (float& number : row_of(queries, r, q_width)) number = static_cast<float>(number * temperature);
  }
  const KvView cache{at.sequence.keys[source],
                     at.sequence.values[source],
                     attention.kv_heads,
                     attention.head_dim,
                     attention.scale,
                     attention.softcap,
                     sinks};
  Floats mixed(queries.size());
  for (std::size_t r = 0; r < at.rows; ++r) {
    ref::attention(row_of(queries, r, q_width), cache, at.first_position + static_cast<std::uint32_t>(r), row_of(mixed, r, q_width),
                   attention.window);
  }
  for (std::size_t i = 0; i < gates.size(); ++i) mixed[i] = static_cast<float>(mixed[i] * sigmoid(static_cast<double>(gates[i])));
  observe(at, MatrixInput::attention_output, mixed);
  return o.apply(mixed, at.rows);
}

Floats MlpWeights::run(const LayerRows& at, const Floats& input) const {
  observe(at, MatrixInput::ffn, input);
  const Floats activated = activate(mlp.activation, mlp.gated() ? gate.apply(input, at.rows) : Floats(), up.apply(input, at.rows));
  observe(at, MatrixInput::ffn_down, activated);
  return down.apply(activated, at.rows);
}

Computation load_part(const model::Attention& attention, const model::Parameters& t) {
  return attention.has_latents() ? load_latent_attention(attention, t) : computation<AttentionWeights>(attention, t);
}
Computation load_part(const std::monostate&, const model::Parameters&) { return {}; }

}  // namespace

Computation load_part(const model::Mlp& mlp, const model::Parameters& t) { return computation<MlpWeights>(mlp, t); }

void store(Floats& cache, std::size_t first, std::size_t width, const Floats& rows, KvFormat format) {
  cache.resize(std::max(cache.size(), first * width + rows.size()));
  const std::span<float> target = std::span(cache).subspan(first * width, rows.size());
  std::ranges::copy(rows, target.begin());
  round_kv(format, target);
}

Floats activate(model::Activation activation, const Floats& gate, const Floats& up) {
  Floats activated = up;
  switch (activation) {
    case model::Activation::gated_silu:
      swiglu(gate, up, activated);
      break;
    case model::Activation::gated_gelu:
      geglu(gate, up, activated);
      break;
    case model::Activation::gelu:
      for (float& number : activated) number = static_cast<float>(gelu(number));
      break;
    case model::Activation::squared_relu:
      for (float& number : activated) number = std::max(number, 0.0f) * std::max(number, 0.0f);
      break;
    case model::Activation::clamped_silu:
      clamped_swiglu(gate, up, activated);
      break;
  }
  return activated;
}

Computation load(const model::Mixer& mixer, const model::Parameters& tensors) {
  return std::visit([&](const auto& part) { return load_part(part, tensors); }, mixer);
}

Computation load(const model::Feedforward& feedforward, const model::Parameters& tensors) {
  return std::visit([&](const auto& part) { return load_part(part, tensors); }, feedforward);
}

Linear::Linear(const model::Parameter& parameter) : weight(weights(*parameter.weight)) {
  if (parameter.bias != nullptr) bias = weights(*parameter.bias);
  if (parameter.scale != nullptr) scale = weights(*parameter.scale).front();
}

Linear::Linear(const model::Parameter& fused, std::size_t first, std::size_t rows) {
  const Floats all = weights(*fused.weight);
  if (fused.scale != nullptr) scale = weights(*fused.scale).front();
  const std::size_t length = fused.weight->row_length();
  weight.assign(all.begin() + static_cast<std::ptrdiff_t>(first * length),
                all.begin() + static_cast<std::ptrdiff_t>((first + rows) * length));
}

std::vector<Linear> Linear::of_stack(const model::Parameter& stack) {
  const Floats all = weights(*stack.weight), biases = stack.bias == nullptr ? Floats() : weights(*stack.bias),
               scales = stack.scale == nullptr ? Floats() : weights(*stack.scale);
  const std::size_t rows = stack.weight->shape[1], size = rows * stack.weight->shape[0];
  std::vector<Linear> matrices(stack.weight->shape[2]);
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const auto own = row_of(all, i, size);
    matrices[i].weight.assign(own.begin(), own.end());
    if (!biases.empty()) matrices[i].bias.assign(row_of(biases, i, rows).begin(), row_of(biases, i, rows).end());
    if (!scales.empty()) matrices[i].scale = scales[i];
  }
  return matrices;
}

Floats Linear::apply(const Floats& x, std::size_t rows) const {
  Floats y(weight.size() / (x.size() / rows) * rows);
  multiply(weight, x, y, rows);
  if (scale != 1.0f) {
    for (float& product : y) product *= scale;
  }
  if (bias.empty()) return y;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += bias[i % bias.size()];
  return y;
}

NormWeights::NormWeights(const model::Parameter& parameter, model::Norm kind) {
  if (parameter.weight != nullptr) weight = weights(*parameter.weight);
  if (parameter.bias != nullptr) bias = weights(*parameter.bias);
  if (kind == model::Norm::layer_without_bias) bias.assign(weight.size(), 0.0f);
}

Floats NormWeights::apply(const Floats& x, float epsilon) const {
  const std::size_t length = weight.size();
  if (length == 0) return x;
  Floats out(x.size());
  for (std::size_t r = 0; r < x.size() / length; ++r) {
    if (bias.empty()) {
      rms_norm(row_of(x, r, length), weight, epsilon, row_of(out, r, length));
    } else {
      layer_norm(row_of(x, r, length), weight, bias, epsilon, row_of(out, r, length));
    }
  }
  return out;
}

}  // namespace skipstone::ref
