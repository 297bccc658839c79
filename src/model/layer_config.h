// How one layer computes. A layer is a mixer, through which a token sees those before it, and a feed-forward network. Each is a variant. A
// new kind is a new alternative; std::visit then asks for its tensors (tensor_roles.cpp), device layout (weight_layout.cpp), words
// (description.cpp), dispatches (exec/pass_dispatches.h) and scalar reference (ref/layers.cpp).
#pragma once

#include <cstdint>
#include <variant>

namespace skipstone::model {

/// rms: Zhang and Sennrich, arXiv 1910.07467. layer: mean subtracted, with a bias (Ba et al., arXiv 1607.06450).
enum class Norm : std::uint8_t { none, rms, layer };
/// The vectors of Q and K that are RMS-normalised after their projections, before rotation: none, each head, or all heads as one vector.
enum class QkNorm : std::uint8_t { none, head, width };
/// down(silu(gate) * up), down(gelu(gate) * up) (Shazeer, arXiv 2002.05202), or down(gelu(up)). GELU in its tanh form (arXiv 1606.08415).
enum class Activation : std::uint8_t { gated_silu, gated_gelu, gelu };

/// Softmax attention with grouped heads.
struct Attention {
  std::uint32_t heads = 0, kv_heads = 0, head_dim = 0;
  QkNorm qk_norm = QkNorm::none;
  bool fused_qkv = false;    ///< in the file: q above k above v
  bool rotates = true;       ///< Q and K rotate by position (RoPE); layers without it know no positions
  bool local_rope = false;   ///< they rotate by Config::local_rope_base, without scaling
  std::uint32_t window = 0;  ///< keys that a row sees, its own included; 0: all
  float scale = 0.0f;        ///< of the products of Q and K; 0: 1 / sqrt(head_dim)
  float softcap = 0.0f;      ///< c * tanh(x / c) of scores (Gemma 2, arXiv 2408.00118); 0: none

  std::uint32_t q_width() const { return heads * head_dim; }
  std::uint32_t kv_width() const { return kv_heads * head_dim; }
  std::uint32_t group() const { return heads / kv_heads; }
  bool operator==(const Attention&) const = default;
};

/// Matrices up and down, and a gate beside up in most families.
struct Mlp {
  std::uint32_t width = 0;  ///< of the activations between them
  Activation activation = Activation::gated_silu;
  bool fused_gate_up = false;  ///< in the file: gate above up, as ffn_up

  bool gated() const { return activation != Activation::gelu; }
  bool operator==(const Mlp&) const = default;
};

using Mixer = std::variant<Attention>;
using Feedforward = std::variant<Mlp>;

struct LayerConfig {
  Norm norm_before = Norm::rms;  ///< of the input of mixer and feed-forward network
  Norm norm_after = Norm::none;  ///< of their output, before that is added to the residual stream
  Mixer mixer{};
  Feedforward feedforward{};

  bool operator==(const LayerConfig&) const = default;
};

}  // namespace skipstone::model
