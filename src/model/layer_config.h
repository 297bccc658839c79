// How one layer computes. A layer is a mixer, through which a token sees those before it, and a feed-forward network. Each is a variant. A
// new kind is a new alternative; std::visit then asks for its tensors (tensor_roles.cpp), device layout (weight_layout.cpp), words
// (description.cpp), dispatches (exec/pass_dispatches.h) and scalar reference (ref/layers.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

namespace skipstone::model {

/// rms: Zhang and Sennrich, arXiv 1910.07467. layer: mean subtracted, with a bias (Ba et al., arXiv 1607.06450). layer_without_bias: the
/// same without one.
enum class Norm : std::uint8_t { none, rms, layer, layer_without_bias };
constexpr bool subtracts_mean(Norm norm) { return norm == Norm::layer || norm == Norm::layer_without_bias; }
/// The vectors of Q and K that are RMS-normalised after their projections, before rotation: none, each head, or all heads as one vector.
enum class QkNorm : std::uint8_t { none, head, width };
/// down(silu(gate) * up), down(gelu(gate) * up) (Shazeer, arXiv 2002.05202), down(gelu(up)), or down(max(up, 0)^2) (So et al., arXiv
/// 2109.08668). GELU in its tanh form (arXiv 1606.08415). clamped_silu: down(g * sigmoid(1.702 g) * (u + 1)), where g is the gate, at most
/// 7, and u is up within -7 and 7 (gpt-oss, arXiv 2508.10925).
enum class Activation : std::uint8_t { gated_silu, gated_gelu, gelu, squared_relu, clamped_silu };
constexpr bool is_gated(Activation activation) { return activation != Activation::gelu && activation != Activation::squared_relu; }
/// How the logits of a router become the weights of the chosen experts: by a softmax over all experts, a sigmoid each, or a softmax over
/// those that are chosen.
enum class Gating : std::uint8_t { softmax, sigmoid, softmax_of_chosen };

/// Multi-head latent attention (arXiv 2405.04434, section 2.1). Keys and values of all heads are made of one vector, and the keys' part
/// that rotates is one for all heads. The cache has both: the key of one KV head, whose first `width` dimensions are its value too. The
/// heads' matrices for keys multiply their queries instead, those for values their outputs.
struct Latents {
  std::uint32_t width = 0;      ///< of the vector; 0: attention is not of this kind
  std::uint32_t query = 0;      ///< of such a vector for queries; 0: they are made of the layer's input
  std::uint32_t key_dim = 0;    ///< of a head, without the part that rotates
  std::uint32_t value_dim = 0;  ///< of a head
  bool fused = false;           ///< in the file: one matrix, of each head the rows of keys, then those of values
  bool operator==(const Latents&) const = default;
};

/// Softmax attention with grouped heads.
struct Attention {
  std::uint32_t heads = 0, kv_heads = 0, head_dim = 0;  ///< as the cache has them
  QkNorm qk_norm = QkNorm::none;
  bool fused_qkv = false;    ///< in the file: q above k above v
  bool rotates = true;       ///< Q and K rotate by position (RoPE); layers without it know no positions
  bool local_rope = false;   ///< they rotate by Config::local_rope_base, without scaling
  std::uint32_t window = 0;  ///< keys that a row sees, its own included; 0: all
  float scale = 0.0f;        ///< of the products of Q and K; 0: 1 / sqrt(head_dim)
  float softcap = 0.0f;      ///< c * tanh(x / c) of scores (Gemma 2, arXiv 2408.00118); 0: none
  /// In the file a head of Q has head_dim more rows, whose sigmoid is a factor of the head's output (arXiv 2505.06708).
  bool output_gate = false;
  bool value_norm = false;      ///< each head of V is RMS-normalised, without a weight; with QkNorm::head alone
  bool keys_as_values = false;  ///< V has no matrix: it is K before its norm and rotation
  /// The layer before this one whose keys and values it reads; it has none itself.
  std::optional<std::uint32_t> kv_source = {};
  bool sinks = false;  ///< a logit of each head joins its softmax and has no value (gpt-oss, arXiv 2508.10925)
  Latents latents = {};

  bool has_latents() const { return latents.width != 0; }
  std::uint32_t q_width() const { return heads * head_dim; }
  /// Of a head in Q's matrix; with latents its part that rotates is the last one, as in keys.
  std::uint32_t query_dim() const {
    return has_latents() ? latents.key_dim + head_dim - latents.width : output_gate ? 2 * head_dim : head_dim;
  }
  std::uint32_t q_rows() const { return heads * query_dim(); }                                          ///< of Q's matrix
  std::uint32_t output_width() const { return has_latents() ? heads * latents.value_dim : q_width(); }  ///< of all heads
  std::uint32_t kv_width() const { return kv_heads * head_dim; }
  /// Of a row of Q, K and V.
  std::uint32_t qkv_width() const { return q_rows() + (kv_source ? 0 : 2 * kv_width()); }
  /// Whether the keys and values of both are stored alike.
  bool stores_like(const Attention& other) const { return kv_heads == other.kv_heads && head_dim == other.head_dim; }
  std::uint32_t group() const { return heads / kv_heads; }
  bool operator==(const Attention&) const = default;
};

// Recurrent mixers. Each begins with a matrix; rows of some of its outputs pass a causal convolution of `kernel` taps, each channel by
// itself.

/// Short convolution (LFM2, arXiv 2511.23404). The first matrix gives B, C and x, as wide as the model: out(C * conv(B * x)).
struct ShortConv {
  std::uint32_t kernel = 0;
  bool operator==(const ShortConv&) const = default;
};

/// Gated delta rule (Yang et al., arXiv 2412.06464). A value head has a state of key_dim rows and value_dim columns. The convolution is of
/// q, k and v, activated by SiLU; the output of a head is RMS-normalised and gated by SiLU.
struct GatedDeltaNet {
  std::uint32_t key_heads = 0, value_heads = 0;
  std::uint32_t key_dim = 0, value_dim = 0;  ///< of a head
  std::uint32_t kernel = 0;
  bool tiled_heads = true;  ///< value head h has key head h % key_heads; else h / (value_heads / key_heads)
  /// In the file beta and alpha are one matrix: of each key head first the beta of its value heads, then their alpha.
  bool fused_rates = false;

  std::uint32_t key_width() const { return key_heads * key_dim; }
  std::uint32_t value_width() const { return value_heads * value_dim; }
  std::uint32_t channels() const { return 2 * key_width() + value_width(); }
  bool operator==(const GatedDeltaNet&) const = default;
};

/// Mamba-2 (Dao and Gu, arXiv 2405.21060). A head has a state of head_dim rows and state_size columns; the heads of a group share B and C.
/// The convolution is of x, B and C, with a bias, activated by SiLU; the outputs of a group's heads are gated by SiLU and RMS-normalised.
struct Mamba2 {
  std::uint32_t heads = 0, head_dim = 0;
  std::uint32_t groups = 0, state_size = 0;
  std::uint32_t kernel = 0;

  std::uint32_t width() const { return heads * head_dim; }
  std::uint32_t group_width() const { return width() / groups; }
  std::uint32_t channels() const { return width() + 2 * groups * state_size; }
  bool operator==(const Mamba2&) const = default;
};

/// Matrices up and down, and a gate beside up in most families.
struct Mlp {
  std::uint32_t width = 0;  ///< of the activations between them
  Activation activation = Activation::gated_silu;
  bool fused_gate_up = false;  ///< in the file: gate above up, as ffn_up

  bool gated() const { return is_gated(activation); }
  bool operator==(const Mlp&) const = default;
};

/// Mixture of experts (Shazeer et al., arXiv 1701.06538): a router chooses for each row `used` of `count` MLPs, whose outputs are added by
/// its weights in the order of the choice. Of equal scores the lower index is chosen. A shared expert is an MLP for all rows.
struct Experts {
  std::uint32_t count = 0, used = 0;
  std::uint32_t width = 0;         ///< of the activations of an expert
  std::uint32_t shared_width = 0;  ///< of those of the shared expert; 0: there is none
  std::uint32_t latent = 0;        ///< experts see this many numbers, which a matrix makes of the row and another one expands; 0: the row
  /// The choice is among the experts of the best `groups_used` of `groups` groups, by the sum of a group's two best scores (arXiv
  /// 2412.19437, section 2.1.2).
  std::uint32_t groups = 1, groups_used = 1;
  Gating gating = Gating::softmax;
  bool corrected = false;     ///< a bias is added to the scores for the choice, but not to the weights
  bool renormalised = false;  ///< the chosen experts' weights are divided by their sum
  bool shared_gate = false;   ///< the shared expert's output is multiplied by the sigmoid of one more logit
  /// Router and experts normalise the residual stream themselves, each with a weight of its own, beside the norm of the shared expert;
  /// logits are divided by the square root of the width; and the outputs of both are normalised before they are added (Gemma 4).
  bool own_norms = false;
  bool fused_gate_up = false;  ///< in the file: each expert's gate above up, as one stack
  float scale = 1.0f;          ///< of the weights, in the end
  Activation activation = Activation::gated_silu;

  bool gated() const { return is_gated(activation); }
  std::uint32_t logits() const { return count + (has_shared_gate() ? 1 : 0); }  ///< of the router: the shared expert's is the last one
  bool has_shared_gate() const { return shared_gate && shared_width != 0; }
  bool operator==(const Experts&) const = default;
};

/// monostate: the layer has none, and its residual stream continues as it is.
using Mixer = std::variant<Attention, ShortConv, GatedDeltaNet, Mamba2, std::monostate>;
using Feedforward = std::variant<Mlp, Experts, std::monostate>;

struct LayerConfig {
  Norm norm_before = Norm::rms;  ///< of the input of mixer and feed-forward network
  Norm norm_after = Norm::none;  ///< of their output, before that is added to the residual stream
  bool parallel = false;         ///< mixer and feed-forward network have one input, that of the layer, and one norm of it
  Mixer mixer{};
  Feedforward feedforward{};
  /// A head for multi-token prediction (arXiv 2412.19437, section 2.2): its input is a matrix of [RMS norm of the next token's embedding,
  /// RMS norm of the model's hidden state].
  bool predicts = false;
  /// Numbers that each token gives the layer (per-layer embeddings), which gate an addition after its feed-forward network, an MLP with
  /// Norm::rms after it; 0: none.
  std::uint32_t token_input = 0;
  bool output_scale = false;  ///< a number of the layer multiplies the residual stream in the end; with Norm::rms as norm_after alone

  bool has_mixer() const { return !std::holds_alternative<std::monostate>(mixer); }
  bool has_feedforward() const { return !std::holds_alternative<std::monostate>(feedforward); }
  bool operator==(const LayerConfig&) const = default;
};

}  // namespace skipstone::model
