#include "ref/model.h"

#include <cmath>
#include <utility>
#include <variant>

#include "base/status.h"
#include "ref/layers.h"
#include "ref/operations.h"

namespace skipstone::ref {

namespace {

void add(Floats& x, const Floats& delta, float scale = 1.0f) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += delta[i] * scale;
}

/// A mixer or feed-forward network, and the norms around it.
struct Part {
  NormWeights before, after;
  Computation compute;
};

struct Layer {
  Part mixer, feedforward;
  Linear token_gate, token_out;  ///< of models with per-layer embeddings
  NormWeights token_norm;
  float output_scale = 1.0f;
};

Layer load_layer(const model::Parameters& t, const model::LayerConfig& config) {
  using model::Role;
  const auto* experts = std::get_if<model::Experts>(&config.feedforward);
  const bool normalises = experts != nullptr && experts->own_norms;  // its input itself
  return {{NormWeights(t[Role::attention_norm], config.norm_before), NormWeights(t[Role::attention_post_norm], config.norm_after),
           load(config.mixer, t)},
          {normalises ? NormWeights() : NormWeights(t[config.parallel ? Role::attention_norm : Role::ffn_norm], config.norm_before),
           NormWeights(t[Role::ffn_post_norm], config.norm_after), load(config.feedforward, t)},
          t[Role::token_gate] ? Linear(t[Role::token_gate]) : Linear(),
          t[Role::token_out] ? Linear(t[Role::token_out]) : Linear(),
          NormWeights(t[Role::token_post_norm]),
          config.output_scale ? weights(*t[Role::output_scale].weight).front() : 1.0f};
}

/// A head for multi-token prediction.
struct Head {
  NormWeights embedding_norm, hidden_norm, norm;
  Linear in;
  Layer layer;
  Floats embedding;  ///< empty where the model's serves
  Linear output;     ///< the same
};

Head load_head(const model::Parameters& t, const model::LayerConfig& config) {
  using model::Role;
  return {NormWeights(t[Role::prediction_embedding_norm]),
          NormWeights(t[Role::prediction_hidden_norm]),
          NormWeights(t[Role::prediction_norm]),
          Linear(t[Role::prediction_in]),
          load_layer(t, config),
          t[Role::prediction_embedding] ? weights(*t[Role::prediction_embedding].weight) : Floats(),
          t[Role::prediction_output] ? Linear(t[Role::prediction_output]) : Linear()};
}

/// Positions of which the layer's mixer has stored something.
std::size_t stored_positions(const model::Config& config, const Sequence& sequence, std::uint32_t layer) {
  const model::Mixer& mixer = config.block(layer).mixer;
  const std::size_t records = sequence.recurrent[layer].records.size();
  if (const auto* attention = std::get_if<model::Attention>(&mixer)) {
    return sequence.keys[attention->kv_source.value_or(layer)].size() / attention->kv_width();
  }
  if (const auto* net = std::get_if<model::GatedDeltaNet>(&mixer)) return records / (net->channels() + 2 * net->value_heads);
  if (const auto* mamba = std::get_if<model::Mamba2>(&mixer)) return records / (mamba->channels() + mamba->heads);
  return records / config.width;
}

}  // namespace

struct Model::Impl {
  model::Config config;
  KvFormats kv_format = KvFormat::f32;
  Floats embedding;
  NormWeights output_norm;
  Linear output;  // empty where the embedding serves
  Floats output_bias;
  std::vector<Layer> layers;
  std::vector<Head> heads;
  Floats token_embedding;  ///< of per-layer embeddings; empty where there are none
  Linear token_projection;
  NormWeights token_norm;

  /// Of each row, what its token gives the layers.
  Floats token_inputs(std::span<const std::int32_t> tokens) const;
  /// Adds to the residual stream what they make of it in a layer.
  void add_token_input(std::uint32_t layer, const Floats& inputs, Floats& x) const;
  std::size_t blocks() const { return layers.size() + heads.size(); }
  void check_tokens(const Sequence& sequence, std::span<const std::int32_t> tokens, std::span<const float> hidden) const;
  void check_start(const Sequence& sequence, std::uint32_t layer, std::uint32_t first_position) const;
  void check(const Sequence& sequence, std::span<const std::int32_t> tokens, std::uint32_t first_position, const exec::LayerPlan& plan,
             const Options& options) const;
  Floats embed(std::span<const std::int32_t> tokens, const Floats& table) const;
  /// Adds the part's output for the rows `from` to the residual stream `x`.
  void run(const Part& part, const LayerRows& at, const Floats& from, Floats& x) const;
  /// The keys and values of a mixer that does not run, for other layers.
  void store(const Part& part, LayerRows at, const Floats& x) const {
    at.stores_alone = true;
    part.compute(at, part.before.apply(x, config.norm_epsilon));
  }
  Floats logits(std::span<const float> hidden) const {
    return logits_of(output_norm.apply(Floats(hidden.begin(), hidden.end()), config.norm_epsilon), output);
  }
  /// `by`: without weights the embedding serves.
  Floats logits_of(const Floats& normed, const Linear& by) const;
};

/// `hidden`: empty for none.
void Model::Impl::check_tokens(const Sequence& sequence, std::span<const std::int32_t> tokens, std::span<const float> hidden) const {
  if (tokens.empty()) fail(Code::invalid_argument, "A pass of the oracle needs at least one token.");
  for (const std::int32_t token : tokens) {
    if (token < 0 || static_cast<std::uint32_t>(token) >= config.vocabulary) {
      fail(Code::invalid_argument, "Token {} is outside the vocabulary of {}.", token, config.vocabulary);
    }
  }
  if (!hidden.empty() && hidden.size() != tokens.size() * config.width) {
    fail(Code::invalid_argument, "The hidden state has {} floats, expected {} rows of {}.", hidden.size(), tokens.size(), config.width);
  }
  if (sequence.keys.size() != blocks() || sequence.values.size() != blocks() || sequence.recurrent.size() != blocks()) {
    fail(Code::invalid_argument, "The sequence has {} layers, the model {}.", sequence.keys.size(), blocks());
  }
}

void Model::Impl::check_start(const Sequence& sequence, std::uint32_t layer, std::uint32_t first_position) const {
  if (const std::size_t stored = stored_positions(config, sequence, layer); first_position > stored) {
    fail(Code::invalid_argument, "Layer {} has stored {} positions, so a pass cannot start at {}.", layer, stored, first_position);
  }
}

void Model::Impl::check(const Sequence& sequence, std::span<const std::int32_t> tokens, std::uint32_t first_position,
                        const exec::LayerPlan& plan, const Options& options) const {
  check_tokens(sequence, tokens, options.hidden);
  if (plan.begin > plan.end || plan.end > config.layer_count()) {
    fail(Code::invalid_argument, "The plan runs layers {} to {} of a model of {}.", plan.begin, plan.end, config.layer_count());
  }
  for (std::uint32_t layer = 0; layer < config.layer_count(); ++layer) {
    if (plan.runs_attention(layer) && config.layers[layer].has_mixer()) check_start(sequence, layer, first_position);
  }
}

Floats Model::Impl::embed(std::span<const std::int32_t> tokens, const Floats& table) const {
  Floats x;
  for (const std::int32_t token : tokens) {
    const auto row = row_of(table, static_cast<std::size_t>(token), config.width);
    for (const float number : row) x.push_back(number * config.embedding_scale);
  }
  return x;
}

Floats Model::Impl::token_inputs(std::span<const std::int32_t> tokens) const {
  if (token_embedding.empty()) return {};
  const std::uint32_t length = config.token_input(), width = length * config.layer_count();
  Floats inputs = token_projection.apply(embed(tokens, embedding), tokens.size());
  for (float& number : inputs) number /= std::sqrt(static_cast<float>(config.width));
  inputs = token_norm.apply(inputs, config.norm_epsilon);
  for (std::size_t r = 0; r < tokens.size(); ++r) {
    const auto own = row_of(token_embedding, static_cast<std::size_t>(tokens[r]), width);
    for (std::size_t i = 0; i < width; ++i) {
      const double sum = static_cast<double>(inputs[r * width + i]) + static_cast<double>(own[i]) * std::sqrt(static_cast<double>(length));
      inputs[r * width + i] = static_cast<float>(sum / std::sqrt(2.0));
    }
  }
  return inputs;
}

void Model::Impl::add_token_input(std::uint32_t layer, const Floats& inputs, Floats& x) const {
  const Layer& own = layers[layer];
  const std::size_t rows = x.size() / config.width, length = config.token_input(), width = inputs.size() / rows;
  Floats gated = own.token_gate.apply(x, rows);
  for (std::size_t i = 0; i < gated.size(); ++i) {
    gated[i] = static_cast<float>(gelu(static_cast<double>(gated[i]))) * inputs[i / length * width + layer * length + i % length];
  }
  add(x, own.token_norm.apply(own.token_out.apply(gated, rows), config.norm_epsilon));
}

void Model::Impl::run(const Part& part, const LayerRows& at, const Floats& from, Floats& x) const {
  const Floats input = part.before.apply(from, config.norm_epsilon);
  const Floats output = part.compute(at, input);
  add(x, part.after.apply(output, config.norm_epsilon), config.residual_scale);
}

Floats Model::Impl::logits_of(const Floats& normed, const Linear& by) const {
  Floats out(config.vocabulary);
  multiply(by.weight.empty() ? embedding : by.weight, normed, out);
  for (float& logit : out) logit *= by.scale;
  if (!output_bias.empty()) add(out, output_bias);
  for (float& logit : out) {
    logit *= config.logit_scale;
    if (config.final_softcap > 0.0f) logit = config.final_softcap * std::tanh(logit / config.final_softcap);
  }
  return out;
}

Model::Model(const gguf::File& file, const KvFormats& kv_format, std::uint32_t context) : impl_(std::make_unique<Impl>()) {
  impl_->config = model::Config::from(file);
  impl_->config.rope_factors = std::vector<float>(impl_->config.factors_for(context));
  impl_->kv_format = kv_format;
  for (const model::LayerConfig& layer : impl_->config.layers) {
    const auto* attention = std::get_if<model::Attention>(&layer.mixer);
    if (attention == nullptr || !kv_format.have_blocks() || attention->head_dim % kv_block == 0) continue;
    fail(Code::invalid_argument, "Heads of {} dimensions are no whole blocks of {}.", attention->head_dim, kv_block);
  }
  const model::ModelTensors tensors = model::find_tensors(file, impl_->config);
  using model::Role;
  impl_->embedding = weights(*tensors.model[Role::embedding].weight);
  impl_->output_norm = NormWeights(tensors.model[Role::output_norm], impl_->config.layers.front().norm_before);
  if (!impl_->config.tied_embeddings) impl_->output.weight = weights(*tensors.model[Role::output].weight);
  if (tensors.model[Role::output].scale != nullptr) impl_->output.scale = weights(*tensors.model[Role::output].scale).front();
  if (tensors.model[Role::output].bias != nullptr) impl_->output_bias = weights(*tensors.model[Role::output].bias);
  if (tensors.model[Role::token_embedding]) {
    impl_->token_embedding = weights(*tensors.model[Role::token_embedding].weight);
    impl_->token_projection = Linear(tensors.model[Role::token_projection]);
    impl_->token_norm = NormWeights(tensors.model[Role::token_norm]);
  }
  for (std::size_t layer = 0; layer < tensors.layers.size(); ++layer) {
    impl_->layers.push_back(load_layer(tensors.layers[layer], impl_->config.layers[layer]));
  }
  for (std::size_t head = 0; head < tensors.prediction_layers.size(); ++head) {
    impl_->heads.push_back(load_head(tensors.prediction_layers[head], impl_->config.prediction_layers[head]));
  }
}

Model::Model(Model&&) noexcept = default;
Model::~Model() = default;

const model::Config& Model::config() const { return impl_->config; }

Sequence Model::new_sequence() const {
  Sequence sequence;
  sequence.keys.resize(impl_->blocks());
  sequence.values.resize(impl_->blocks());
  sequence.recurrent.resize(impl_->blocks());
  return sequence;
}

Result Model::forward(Sequence& sequence, std::span<const std::int32_t> tokens, std::uint32_t first_position, const exec::LayerPlan& plan,
                      const Options& options) const {
  const Impl& m = *impl_;
  m.check(sequence, tokens, first_position, plan, options);
  const std::size_t rows = tokens.size(), width = m.config.width;
  Floats x = options.hidden.empty() ? m.embed(tokens, m.embedding) : Floats(options.hidden.begin(), options.hidden.end());
  const Floats token_inputs = m.token_inputs(tokens);
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
    const LayerRows at{m.config, m.kv_format, layer, sequence, first_position, rows, options};
    const bool parallel = m.config.layers[layer].parallel;
    const Floats input = parallel ? x : Floats();
    if (layer >= plan.begin && !plan.runs_attention(layer) && m.config.has_readers(layer, plan.end)) m.store(m.layers[layer].mixer, at, x);
    if (plan.runs_attention(layer) && m.layers[at.layer].mixer.compute) {
      before = x;
      m.run(m.layers[at.layer].mixer, at, x, x);
      result.attention_cosine[layer] = cosines();
    }
    if (plan.runs_mlp(layer) && m.layers[at.layer].feedforward.compute) {
      before = x;
      m.run(m.layers[at.layer].feedforward, at, parallel ? input : x, x);
      if (!token_inputs.empty()) m.add_token_input(layer, token_inputs, x);
      for (float& number : x) number *= m.layers[layer].output_scale;
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

std::vector<float> Model::normalised(std::span<const float> hidden) const {
  return impl_->output_norm.apply(Floats(hidden.begin(), hidden.end()), impl_->config.norm_epsilon);
}

Result Model::predict(Sequence& sequence, std::span<const std::int32_t> tokens, std::uint32_t first_position, std::span<const float> hidden,
                      std::uint32_t head) const {
  const Impl& m = *impl_;
  if (head >= m.heads.size())
    fail(Code::invalid_argument, "The model has {} heads for multi-token prediction, not {}.", m.heads.size(), head + 1);
  m.check_tokens(sequence, tokens, hidden);
  if (hidden.empty()) fail(Code::invalid_argument, "A head for multi-token prediction needs hidden states.");
  const std::size_t rows = tokens.size(), width = m.config.width;
  const std::uint32_t layer = m.config.layer_count() + head;
  m.check_start(sequence, layer, first_position);
  const Head& own = m.heads[head];
  const Floats embeddings =
      own.embedding_norm.apply(m.embed(tokens, own.embedding.empty() ? m.embedding : own.embedding), m.config.norm_epsilon);
  const Floats states = own.hidden_norm.apply(Floats(hidden.begin(), hidden.end()), m.config.norm_epsilon);
  Floats joined;
  for (std::size_t r = 0; r < rows; ++r) {
    for (const Floats* half : {&embeddings, &states}) {
      const auto row = row_of(*half, r, width);
      joined.insert(joined.end(), row.begin(), row.end());
    }
  }
  Floats x = own.in.apply(joined, rows);
  const Options options;
  const LayerRows at{m.config, m.kv_format, layer, sequence, first_position, rows, options};
  for (const Part* part : {&own.layer.mixer, &own.layer.feedforward}) {
    if (part->compute) m.run(*part, at, x, x);
  }
  x = own.norm.weight.empty() ? m.output_norm.apply(x, m.config.norm_epsilon) : own.norm.apply(x, m.config.norm_epsilon);
  Result result;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = row_of(std::as_const(x), r, width);
    result.hidden.emplace_back(row.begin(), row.end());
    result.logits.push_back(m.logits_of(result.hidden.back(), own.output.weight.empty() ? m.output : own.output));
  }
  return result;
}

}  // namespace skipstone::ref
