// The dispatches of one pass while it is being built, and what each kind of layer appends to them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "exec/pass_builder.h"

namespace skipstone::exec {

/// The residual stream alternates between two buffers, so that the input of a mixer or feed-forward network is still there when its output
/// is (the cosine reduction needs both, and a residual add never reads what it writes).
class PassDispatches {
 public:
  PassDispatches(const PassContext& context, const PassSpec& spec) : context_(context), spec_(spec) {}

  const PassContext& context() const { return context_; }
  const PassSpec& spec() const { return spec_; }
  const model::Config& config() const { return context_.config; }
  const kernels::Selector& select() const { return context_.select; }
  /// The kernels of decoding normalise and activate by themselves, except those on matrix units.
  bool fused() const { return !spec_.prompt && select().math() == kernels::Math::f32; }

  kernels::Resource residual() const { return current_; }
  kernels::Resource other_residual() const;
  /// The residual stream continues in `buffer`.
  void set_residual(kernels::Resource buffer) { current_ = buffer; }

  std::size_t size() const { return dispatches_.size(); }
  void append(kernels::Dispatch dispatch) { dispatches_.push_back(std::move(dispatch)); }
  void append(std::vector<kernels::Dispatch> several);
  std::vector<kernels::Dispatch> take() { return std::move(dispatches_); }

  void multiply(const kernels::Matrix& weights, kernels::Resource x, kernels::Resource y, const kernels::MatvecFusion& fusion,
                const std::string& label);
  /// The residual stream as the input of matrices, normalised if there is a norm; the skinny kernels normalise (RMS) themselves.
  std::pair<kernels::Resource, std::optional<kernels::MatvecNorm>> normalise(const std::optional<model::NormWeights>& norm,
                                                                             const std::string& label);
  void normalise(kernels::Resource x, const model::NormWeights& norm, std::uint32_t rows, bool last_row, const std::string& label);

  /// In a parallel block what a feed-forward network reads after a mixer that ran: the layer's input, not what the mixer has added to it.
  /// Empty elsewhere.
  void set_layer_input(std::optional<kernels::Resource> input) { layer_input_ = input; }
  /// As normalise(), of a feed-forward network.
  std::pair<kernels::Resource, std::optional<kernels::MatvecNorm>> normalise_ffn(const std::optional<model::NormWeights>& norm,
                                                                                 const std::string& label);

  /// The last matrix of a mixer or feed-forward network, and the norm of its output, if any.
  struct Addition {
    const kernels::Matrix& matrix;
    kernels::Resource x;
    std::optional<std::uint32_t> bias;
    const std::optional<model::NormWeights>& norm;
    std::string label, norm_label;
    std::optional<kernels::Resource> out = {};  ///< instead of other_residual(); where there is a norm
    std::optional<std::uint32_t> scale = {};    ///< tensor of one number, which multiplies the sum; where there is a norm
  };
  /// other_residual() becomes residual() and the addition.
  void add_to_residual(const Addition& addition);
  /// The residual stream and the normalised x; `out` and `scale` as above.
  struct NormedAddition {
    kernels::Resource x;
    const model::NormWeights& norm;
    std::string label;
    std::optional<kernels::Resource> out = {};
    std::optional<std::uint32_t> scale = {};
  };
  void add_normalised(const NormedAddition& addition);

 private:
  const PassContext& context_;
  const PassSpec& spec_;
  kernels::Resource current_{kernels::ResourceKind::residual, 0};
  std::optional<kernels::Resource> layer_input_;
  std::vector<kernels::Dispatch> dispatches_;
};

/// The records of a recurrent layer.
kernels::Records records_of(const PassContext& context, std::uint32_t layer);
/// The matrices before a recurrent mixer, over the normalised residual stream.
void project(PassDispatches& pass, std::uint32_t layer, const std::vector<model::Projection>& in);

/// The input of an MLP, the norm that its matrices apply to it, and what the labels of matrices and of the activation begin with.
struct MlpInput {
  kernels::Resource x;
  std::optional<kernels::MatvecNorm> norm;
  std::string prefix, activation_prefix;
};
/// An MLP but its last matrix: its activations are in ResourceKind::activated.
void append_activations(PassDispatches& pass, const model::MlpWeights& own, const model::Mlp& mlp, const MlpInput& input);
kernels::Activation kernel_activation(model::Activation activation);
const char* activation_label(model::Activation activation);
/// What latent attention stores of the rows, in qkv: the key in the place of all heads' keys and values. `with_queries`: and the queries,
/// in part in q_rotated.
void append_latents(PassDispatches& pass, const kernels::AttentionShape& shape, std::uint32_t layer, const model::Attention& attention,
                    bool with_queries);
/// What its heads make of their attention.
kernels::Resource append_latent_outputs(PassDispatches& pass, std::uint32_t layer, const model::Attention& attention);
/// Moves the records that the rows of an accepted path have stored in a layer.
kernels::Dispatch move_records(const PassContext& context, std::uint32_t layer);

// Each kind of mixer has these three functions, each kind of feed-forward network the last one. Layers are those of the model.

/// What a layer stores of the residual stream for later rows.
void append_store(PassDispatches& pass, const ByKind<std::uint32_t>& slots, std::uint32_t layer, const model::Attention& attention);
void append_store(PassDispatches& pass, const ByKind<std::uint32_t>& slots, std::uint32_t layer, const model::ShortConv& conv);
void append_store(PassDispatches& pass, const ByKind<std::uint32_t>& slots, std::uint32_t layer, const model::GatedDeltaNet& net);
void append_store(PassDispatches& pass, const ByKind<std::uint32_t>& slots, std::uint32_t layer, const model::Mamba2& mamba);
inline void append_store(PassDispatches&, const ByKind<std::uint32_t>&, std::uint32_t, const std::monostate&) {}
/// The mixer, which stores too; other_residual() has its output.
void append_mixer(PassDispatches& pass, const ByKind<std::uint32_t>& slots, std::uint32_t layer, const model::Attention& attention);
void append_mixer(PassDispatches& pass, const ByKind<std::uint32_t>& slots, std::uint32_t layer, const model::ShortConv& conv);
void append_mixer(PassDispatches& pass, const ByKind<std::uint32_t>& slots, std::uint32_t layer, const model::GatedDeltaNet& net);
void append_mixer(PassDispatches& pass, const ByKind<std::uint32_t>& slots, std::uint32_t layer, const model::Mamba2& mamba);
inline void append_mixer(PassDispatches&, const ByKind<std::uint32_t>&, std::uint32_t, const std::monostate&) {}
/// Advances the states of a layer that precedes those of the pass.
void append_advance(PassDispatches& pass, std::uint32_t layer, const model::GatedDeltaNet& net);
void append_advance(PassDispatches& pass, std::uint32_t layer, const model::Mamba2& mamba);
template <typename Stateless>
void append_advance(PassDispatches&, std::uint32_t, const Stateless&) {}
/// Moves what the rows of an accepted path have stored (PassBuilder::build_move).
std::vector<kernels::Dispatch> move_accepted(const PassContext& context, const ByKind<std::uint32_t>& slots, std::uint32_t layer,
                                             const model::Attention& attention);
inline std::vector<kernels::Dispatch> move_accepted(const PassContext&, const ByKind<std::uint32_t>&, std::uint32_t,
                                                    const std::monostate&) {
  return {};
}
template <typename Recurrent>
std::vector<kernels::Dispatch> move_accepted(const PassContext& context, const ByKind<std::uint32_t>&, std::uint32_t layer,
                                             const Recurrent&) {
  return {move_records(context, layer)};
}
/// Whether a pass stores what the model's head for multi-token prediction keeps of its rows.
bool feeds_head(const PassSpec& spec, const model::Config& config);
/// The hidden states of the rows, after the last layer; then, when the residual stream is no longer needed, keys and values of the head.
void store_hidden_states(PassDispatches& pass);
void store_for_head(PassDispatches& pass, const ByKind<std::uint32_t>& slots);
/// The head up to its last norm, which follows in the output.
void append_head(PassDispatches& pass, const ByKind<std::uint32_t>& slots);

/// What each token gives each layer (Config::token_input), from the embeddings of the rows; before the first layer.
void append_token_inputs(PassDispatches& pass, kernels::Resource embeddings);
/// The addition that these gate, to `x`, the residual stream after the feed-forward network; other_residual() has the sum.
void append_token_addition(PassDispatches& pass, std::uint32_t layer, kernels::Resource x);

/// The feed-forward network; other_residual() has its output.
void append_feedforward(PassDispatches& pass, std::uint32_t layer, const model::Mlp& mlp);
void append_feedforward(PassDispatches& pass, std::uint32_t layer, const model::Experts& experts);
inline void append_feedforward(PassDispatches&, std::uint32_t, const std::monostate&) {}
/// As missing_on_devices of a model.
const char* missing_on_devices(const model::LayerConfig& layer, const model::Experts& experts);

}  // namespace skipstone::exec
