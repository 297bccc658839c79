// The computations of each kind of mixer and feed-forward network, with weights as floats.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "model/config.h"
#include "ref/model.h"

namespace skipstone::ref {

using Floats = std::vector<float>;

/// A matrix with its bias (empty where it has none), and the factor of products with it.
struct Linear {
  Floats weight, bias;
  float scale = 1.0f;

  Linear() = default;
  explicit Linear(const model::Parameter& parameter);
  /// `rows` rows of a fused matrix, from `first` on, without their biases.
  Linear(const model::Parameter& fused, std::size_t first, std::size_t rows);
  /// The matrices of a stack.
  static std::vector<Linear> of_stack(const model::Parameter& stack);
  /// Adds the rows of a matrix with the same factor, without biases.
  void append(const Linear& below) {
    weight.insert(weight.end(), below.weight.begin(), below.weight.end());
    scale = below.scale;
  }
  /// x: rows of K floats.
  Floats apply(const Floats& x, std::size_t rows) const;
};

/// The weight and bias of a norm; empty where the layer has none.
struct NormWeights {
  Floats weight, bias;

  NormWeights() = default;
  explicit NormWeights(const model::Parameter& parameter, model::Norm kind = model::Norm::rms);
  /// Each row, or each part of a row as long as the weight, normalised; x itself without a norm.
  Floats apply(const Floats& x, float epsilon) const;
};

/// The rows of a call of Model::forward, at one layer.
struct LayerRows {
  const model::Config& config;
  KvFormats kv_format;
  std::uint32_t layer;
  Sequence& sequence;
  std::uint32_t first_position;
  std::size_t rows;
  const Options& options;
  bool stores_alone = false;  ///< attention stores K and V and has no output
};

/// The output of a mixer or feed-forward network for its normalised input, before the norm of the output. Mixers store what later rows
/// need.
using Computation = std::function<Floats(const LayerRows& at, const Floats& input)>;
/// Empty for monostate.
Computation load(const model::Mixer& mixer, const model::Parameters& tensors);
Computation load(const model::Feedforward& feedforward, const model::Parameters& tensors);

Computation load_part(const model::Mlp& mlp, const model::Parameters& tensors);
// Of attention with latents (latent_attention.cpp).
Computation load_latent_attention(const model::Attention& attention, const model::Parameters& tensors);
// Of experts (experts.cpp).
Computation load_part(const model::Experts& experts, const model::Parameters& tensors);
// Of recurrent mixers (recurrent_layers.cpp).
Computation load_part(const model::ShortConv& conv, const model::Parameters& tensors);
Computation load_part(const model::GatedDeltaNet& net, const model::Parameters& tensors);
Computation load_part(const model::Mamba2& mamba, const model::Parameters& tensors);

/// The computation of `Weights`, which loads and runs a kind of mixer or feed-forward network.
template <typename Weights, typename Part>
Computation computation(const Part& part, const model::Parameters& tensors) {
  return [weights = std::make_shared<const Weights>(part, tensors)](const LayerRows& at, const Floats& input) {
    return weights->run(at, input);
  };
}

/// Puts rows into a cache from row `first` on, overwriting its rows.
void store(Floats& cache, std::size_t first, std::size_t width, const Floats& rows, KvFormat format);

/// An MLP's activations, of rows of gate (empty without one) and up.
Floats activate(model::Activation activation, const Floats& gate, const Floats& up);

inline void observe(const LayerRows& at, MatrixInput input, const Floats& x) {
  if (at.options.observe) at.options.observe(at.layer, input, x, at.rows);
}

inline std::span<const float> row_of(const Floats& matrix, std::size_t index, std::size_t length) {
  return std::span(matrix).subspan(index * length, length);
}
inline std::span<float> row_of(Floats& matrix, std::size_t index, std::size_t length) {
  return std::span(matrix).subspan(index * length, length);
}

}  // namespace skipstone::ref
