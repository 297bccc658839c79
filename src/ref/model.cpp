#include "ref/model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status.h"
#include "ref/kv_rounding.h"
#include "ref/operations.h"

namespace skipstone::ref {

namespace {

using Floats = std::vector<float>;

/// A matrix with its bias (empty where it has none).
struct Linear {
  Floats weight, bias;

  Linear() = default;
  explicit Linear(const model::Parameter& parameter) : weight(weights(*parameter.weight)) {
    if (parameter.bias != nullptr) bias = weights(*parameter.bias);
  }
  /// `rows` rows of a fused matrix, from `first` on.
  Linear(const gguf::Tensor& fused, std::size_t first, std::size_t rows) {
    const Floats all = weights(fused);
    const std::size_t length = fused.row_length();
    weight.assign(all.begin() + static_cast<std::ptrdiff_t>(first * length),
                  all.begin() + static_cast<std::ptrdiff_t>((first + rows) * length));
  }

  /// x: rows of K floats.
  Floats apply(const Floats& x, std::size_t rows) const {
    Floats y(weight.size() / (x.size() / rows) * rows);
    multiply(weight, x, y, rows);
    if (bias.empty()) return y;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += bias[i % bias.size()];
    return y;
  }
};

/// The weight and bias of a norm; empty where the family has none.
struct NormWeights {
  Floats weight, bias;

  NormWeights() = default;
  explicit NormWeights(const model::Parameter& parameter) {
    if (parameter.weight != nullptr) weight = weights(*parameter.weight);
    if (parameter.bias != nullptr) bias = weights(*parameter.bias);
  }
};

struct Layer {
  NormWeights attention_norm, attention_post_norm, ffn_norm, ffn_post_norm, q_norm, k_norm;
  Linear q, k, v, o, gate, up, down;
};

Layer load_layer(const model::Parameters& t, const model::Config& c) {
  using model::Role;
  Layer layer;
  layer.attention_norm = NormWeights(t[Role::attention_norm]);
  layer.attention_post_norm = NormWeights(t[Role::attention_post_norm]);
  layer.ffn_norm = NormWeights(t[Role::ffn_norm]);
  layer.ffn_post_norm = NormWeights(t[Role::ffn_post_norm]);
  layer.q_norm = NormWeights(t[Role::q_norm]);
  layer.k_norm = NormWeights(t[Role::k_norm]);
  if (t[Role::qkv]) {
    const gguf::Tensor& qkv = *t[Role::qkv].weight;
    layer.q = Linear(qkv, 0, c.q_width());
    layer.k = Linear(qkv, c.q_width(), c.kv_width());
    layer.v = Linear(qkv, c.q_width() + c.kv_width(), c.kv_width());
  } else {
    layer.q = Linear(t[Role::q]);
    layer.k = Linear(t[Role::k]);
    layer.v = Linear(t[Role::v]);
  }
  layer.o = Linear(t[Role::o]);
  if (t[Role::gate_up]) {
    layer.gate = Linear(*t[Role::gate_up].weight, 0, c.ffn);
    layer.up = Linear(*t[Role::gate_up].weight, c.ffn, c.ffn);
  } else {
    if (t[Role::gate]) layer.gate = Linear(t[Role::gate]);
    layer.up = Linear(t[Role::up]);
  }
  layer.down = Linear(t[Role::down]);
  return layer;
}

std::span<const float> row_of(const Floats& matrix, std::size_t index, std::size_t length) {
  return std::span(matrix).subspan(index * length, length);
}
std::span<float> row_of(Floats& matrix, std::size_t index, std::size_t length) { return std::span(matrix).subspan(index * length, length); }

/// Each row, or each part of a row as long as the weight, normalised; x itself without a norm.
Floats normalised(const Floats& x, const NormWeights& norm, float epsilon) {
  const std::size_t length = norm.weight.size();
  if (length == 0) return x;
  Floats out(x.size());
  for (std::size_t r = 0; r < x.size() / length; ++r) {
    if (norm.bias.empty()) {
      rms_norm(row_of(x, r, length), norm.weight, epsilon, row_of(out, r, length));
    } else {
      layer_norm(row_of(x, r, length), norm.weight, norm.bias, epsilon, row_of(out, r, length));
    }
  }
  return out;
}

void add(Floats& x, const Floats& delta, float scale = 1.0f) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += delta[i] * scale;
}

/// Puts rows into a cache from row `first` on, overwriting its rows.
void store(Floats& cache, std::size_t first, std::size_t width, const Floats& rows, KvFormat format) {
  cache.resize(std::max(cache.size(), first * width + rows.size()));
  const std::span<float> target = std::span(cache).subspan(first * width, rows.size());
  std::ranges::copy(rows, target.begin());
  round_kv(format, target);
}

}  // namespace

struct Model::Impl {
  model::Config config;
  KvFormat kv_format = KvFormat::f32;
  Floats embedding;
  NormWeights output_norm;
  Linear output;  // empty where the embedding serves
  Floats output_bias;
  std::vector<Layer> layers;

  void check(const Sequence& sequence, std::span<const std::int32_t> tokens, std::uint32_t first_position, const exec::LayerPlan& plan,
             const Options& options) const;
  Floats embed(std::span<const std::int32_t> tokens) const;
  void run_attention(std::uint32_t index, Sequence& sequence, std::uint32_t first_position, std::size_t rows, const Options& options,
                     Floats& x) const;
  void run_mlp(std::uint32_t index, std::size_t rows, const Options& options, Floats& x) const;
  Floats logits(std::span<const float> hidden) const;
};

void Model::Impl::check(const Sequence& sequence, std::span<const std::int32_t> tokens, std::uint32_t first_position,
                        const exec::LayerPlan& plan, const Options& options) const {
  if (tokens.empty()) fail(Code::invalid_argument, "A pass of the oracle needs at least one token.");
  for (const std::int32_t token : tokens) {
    if (token < 0 || static_cast<std::uint32_t>(token) >= config.vocabulary) {
      fail(Code::invalid_argument, "Token {} is outside the vocabulary of {}.", token, config.vocabulary);
    }
  }
  if (plan.begin > plan.end || plan.end > config.layer_count()) {
    fail(Code::invalid_argument, "The plan runs layers {} to {} of a model of {}.", plan.begin, plan.end, config.layer_count());
  }
  if (!options.hidden.empty() && options.hidden.size() != tokens.size() * config.width) {
    fail(Code::invalid_argument, "The hidden state has {} floats, expected {} rows of {}.", options.hidden.size(), tokens.size(),
         config.width);
  }
  if (sequence.keys.size() != config.layer_count() || sequence.values.size() != config.layer_count()) {
    fail(Code::invalid_argument, "The sequence has {} layers, the model {}.", sequence.keys.size(), config.layer_count());
  }
  for (std::uint32_t layer = 0; layer < config.layer_count(); ++layer) {
    if (plan.runs_attention(layer) && first_position > sequence.keys[layer].size() / config.kv_width()) {
      fail(Code::invalid_argument, "Layer {} has stored {} positions, so a pass cannot start at {}.", layer,
           sequence.keys[layer].size() / config.kv_width(), first_position);
    }
  }
}

Floats Model::Impl::embed(std::span<const std::int32_t> tokens) const {
  Floats x;
  for (const std::int32_t token : tokens) {
    const auto row = row_of(embedding, static_cast<std::size_t>(token), config.width);
    for (const float number : row) x.push_back(number * config.embedding_scale);
  }
  return x;
}

void Model::Impl::run_attention(std::uint32_t index, Sequence& sequence, std::uint32_t first_position, std::size_t rows,
                                const Options& options, Floats& x) const {
  const Layer& layer = layers[index];
  const model::LayerSpec spec = config.layer(index);
  const Floats input = normalised(x, layer.attention_norm, config.norm_epsilon);
  if (options.observe) options.observe(index, MatrixInput::attention, input, rows);
  Floats q = normalised(layer.q.apply(input, rows), layer.q_norm, config.norm_epsilon);
  Floats k = normalised(layer.k.apply(input, rows), layer.k_norm, config.norm_epsilon);
  const Floats v = layer.v.apply(input, rows);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto position = first_position + static_cast<std::uint32_t>(r);
    if (spec.rotates) {
      rope(row_of(q, r, config.q_width()), position, config, spec.local_rope);
      rope(row_of(k, r, config.kv_width()), position, config, spec.local_rope);
    }
    const double temperature = config.temperature_at(position);
    for (float& number : row_of(q, r, config.q_width())) number = static_cast<float>(number * temperature);
  }
  store(sequence.keys[index], first_position, config.kv_width(), k, kv_format);
  store(sequence.values[index], first_position, config.kv_width(), v, kv_format);
  const KvView cache{sequence.keys[index], sequence.values[index], config.kv_heads,
                     config.head_dim,      config.attention_scale, config.attention_softcap};
  Floats mixed(q.size());
  for (std::size_t r = 0; r < rows; ++r) {
    attention(row_of(q, r, config.q_width()), cache, first_position + static_cast<std::uint32_t>(r), row_of(mixed, r, config.q_width()),
              spec.window);
  }
  if (options.observe) options.observe(index, MatrixInput::attention_output, mixed, rows);
  add(x, normalised(layer.o.apply(mixed, rows), layer.attention_post_norm, config.norm_epsilon), config.residual_scale);
}

void Model::Impl::run_mlp(std::uint32_t index, std::size_t rows, const Options& options, Floats& x) const {
  const Layer& layer = layers[index];
  const Floats input = normalised(x, layer.ffn_norm, config.norm_epsilon);
  if (options.observe) options.observe(index, MatrixInput::ffn, input, rows);
  Floats activated = layer.up.apply(input, rows);
  switch (config.layer(index).mlp) {
    case model::Mlp::gated_silu:
      swiglu(layer.gate.apply(input, rows), activated, activated);
      break;
    case model::Mlp::gated_gelu:
      geglu(layer.gate.apply(input, rows), activated, activated);
      break;
    case model::Mlp::gelu:
      for (float& number : activated) number = static_cast<float>(gelu(number));
      break;
  }
  if (options.observe) options.observe(index, MatrixInput::ffn_down, activated, rows);
  add(x, normalised(layer.down.apply(activated, rows), layer.ffn_post_norm, config.norm_epsilon), config.residual_scale);
}

Floats Model::Impl::logits(std::span<const float> hidden) const {
  const Floats normed = normalised(Floats(hidden.begin(), hidden.end()), output_norm, config.norm_epsilon);
  Floats out(config.vocabulary);
  multiply(config.tied_embeddings ? embedding : output.weight, normed, out);
  if (!output_bias.empty()) add(out, output_bias);
  for (float& logit : out) {
    logit *= config.logit_scale;
    if (config.final_softcap > 0.0f) logit = config.final_softcap * std::tanh(logit / config.final_softcap);
  }
  return out;
}

Model::Model(const gguf::File& file, KvFormat kv_format, std::uint32_t context) : impl_(std::make_unique<Impl>()) {
  impl_->config = model::Config::from(file);
  impl_->config.rope_factors = std::vector<float>(impl_->config.factors_for(context));
  impl_->kv_format = kv_format;
  if (kv_format == KvFormat::q8_0 && impl_->config.head_dim % kv_block != 0) {
    fail(Code::invalid_argument, "Heads of {} dimensions are no whole blocks of {}.", impl_->config.head_dim, kv_block);
  }
  const model::ModelTensors tensors = model::find_tensors(file, impl_->config);
  using model::Role;
  impl_->embedding = weights(*tensors.model[Role::embedding].weight);
  impl_->output_norm = NormWeights(tensors.model[Role::output_norm]);
  if (!impl_->config.tied_embeddings) impl_->output.weight = weights(*tensors.model[Role::output].weight);
  if (tensors.model[Role::output].bias != nullptr) impl_->output_bias = weights(*tensors.model[Role::output].bias);
  for (const model::Parameters& layer : tensors.layers) impl_->layers.push_back(load_layer(layer, impl_->config));
}

Model::Model(Model&&) noexcept = default;
Model::~Model() = default;

const model::Config& Model::config() const { return impl_->config; }

Sequence Model::new_sequence() const {
  Sequence sequence;
  sequence.keys.resize(impl_->config.layer_count());
  sequence.values.resize(impl_->config.layer_count());
  return sequence;
}

Result Model::forward(Sequence& sequence, std::span<const std::int32_t> tokens, std::uint32_t first_position, const exec::LayerPlan& plan,
                      const Options& options) const {
  const Impl& m = *impl_;
  m.check(sequence, tokens, first_position, plan, options);
  const std::size_t rows = tokens.size(), width = m.config.width;
  Floats x = options.hidden.empty() ? m.embed(tokens) : Floats(options.hidden.begin(), options.hidden.end());
  Result result;
  result.attention_cosine.resize(m.config.layer_count());
  result.mlp_cosine.resize(m.config.layer_count());
  Floats before;
  const auto cosines = [&] {
    std::vector<float> of_rows;
    for (std::size_t r = 0; r < rows; ++r) of_rows.push_back(cosine(row_of(before, r, width), row_of(x, r, width)));
    return of_rows;
  };
  for (std::uint32_t layer = 0; layer < m.config.layer_count(); ++layer) {
    if (plan.runs_attention(layer)) {
      before = x;
      m.run_attention(layer, sequence, first_position, rows, options, x);
      result.attention_cosine[layer] = cosines();
    }
    if (plan.runs_mlp(layer)) {
      before = x;
      m.run_mlp(layer, rows, options, x);
      result.mlp_cosine[layer] = cosines();
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    const auto hidden = row_of(std::as_const(x), r, width);
    result.hidden.emplace_back(hidden.begin(), hidden.end());
    if (options.all_logits || r + 1 == rows) result.logits.push_back(m.logits(hidden));
  }
  return result;
}

}  // namespace skipstone::ref
