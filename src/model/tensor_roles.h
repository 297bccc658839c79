// The tensors of a model by role: their names, shapes, and which layers have them. Reader, converter, random models, calibration, device
// layout and scalar reference all read this table; no name is written anywhere else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace skipstone::gguf {
struct Tensor;
}  // namespace skipstone::gguf

namespace skipstone::model {

struct Architecture;
struct Config;
struct LayerConfig;

enum class Role : std::uint8_t {
  embedding,
  output_norm,
  output,
  rope_factors,
  rope_factors_short,
  rope_factors_long,
  token_embedding,
  token_projection,
  token_norm,  // of the model
  attention_norm,
  qkv,
  q,
  k,
  v,
  q_norm,
  k_norm,
  o,
  sinks,
  kv_a,
  q_a,
  q_b,
  k_b,
  v_b,
  kv_b,
  shortconv_in,
  shortconv_taps,
  shortconv_out,
  ssm_in,
  ssm_gate,
  ssm_beta,
  ssm_alpha,
  ssm_rates,
  ssm_taps,
  ssm_dt,
  ssm_a,
  ssm_d,
  ssm_norm,
  ssm_out,
  prediction_in,
  prediction_embedding_norm,
  prediction_hidden_norm,
  prediction_norm,
  prediction_embedding,
  prediction_output,
  attention_post_norm,
  ffn_norm,
  gate,
  up,
  gate_up,
  down,
  router,
  router_norm,
  router_correction,
  expert_norm,
  expert_gate,
  expert_up,
  expert_gate_up,
  expert_down,
  expert_post_norm,
  latent_down,
  latent_up,
  shared_router,
  shared_gate,
  shared_up,
  shared_down,
  shared_post_norm,
  ffn_post_norm,
  token_gate,
  token_out,
  token_post_norm,
  output_scale,  // of a layer
};
inline constexpr std::size_t role_count = static_cast<std::size_t>(Role::output_scale) + 1;
inline constexpr Role first_layer_role = Role::attention_norm;

/// Which biases a family's files must have; those of other matrices are read if present. optional_qkv: none, but where its checkpoints
/// have biases of attention, they are of Q, K and V alone.
enum class Biases : std::uint8_t { optional, optional_qkv, qkv, all };

/// Lengths in terms of the model (width, two_widths, three_widths, vocabulary, half_rope, token_input, all_token_inputs), of a layer's
/// mixer, or of its feed-forward network. inner: the outputs of all heads; channels: of a convolution; one: there is no such dimension;
/// one_row: there is, of length 1.
enum class Length : std::uint8_t {
  one,
  one_row,
  width,
  two_widths,
  three_widths,
  vocabulary,
  half_rope,
  token_input,
  all_token_inputs,
  q_rows,
  q_width,
  kv_width,
  qkv_width,
  q_norm,
  k_norm,
  heads,
  query_latent,
  key_latent,
  key_dim,
  value_dim,
  key_value_rows,
  kernel,
  channels,
  ssm_rows,
  ssm_heads,
  twice_ssm_heads,
  ssm_norm,
  ssm_groups,
  inner,
  ffn,
  twice_ffn,
  experts,
  expert_ffn,
  twice_expert_ffn,
  expert_width,
  latent,
  shared_ffn
};

struct TensorRole {
  Role role;
  std::string_view name;         ///< in GGUF, between "blk.N." and ".weight": "attn_q"
  std::string_view huggingface;  ///< in checkpoints of most families, between "model.layers.N." and ".weight"; "" if none
  std::array<Length, 3> shape;   ///< columns, rows (vectors: one), and matrices of a stack (else one): in GGUF's order
  bool bias;                     ///< may have one (has_bias), of as many numbers as the role has outputs
  bool required = true;          ///< where a layer has the role
  std::string_view suffix = "weight";
  bool floats = false;  ///< numbers of an operation besides products, whatever their shape

  bool vector() const { return floats || shape[1] == Length::one; }
};

/// The numbers of TensorRole::shape, and how many numbers a bias has.
struct TensorShape {
  std::uint64_t columns = 1, rows = 1, matrices = 1, outputs = 1;
};
/// `layer` is used for roles of a layer only.
TensorShape tensor_shape(Role role, const Config& config, std::uint32_t layer);

/// By Role.
std::span<const TensorRole> tensor_roles();
const TensorRole& tensor_role(Role role);

/// Whether the layer has the role. False for roles of the model.
bool has_role(const LayerConfig& layer, Role role);

/// Whether the layer (for roles of the model: any) may have a bias there: matrices may, norms must where they are Norm::layer.
bool has_bias(const LayerConfig& layer, Role role);

/// "blk.3.attn_q.weight", "output_norm.bias", ...; `layer` is used for roles of a layer only. As TensorRole has it, or in files of a
/// family.
std::string tensor_name(Role role, std::uint32_t layer, bool bias = false);
std::string tensor_name(const Architecture& family, Role role, std::uint32_t layer, bool bias = false);
/// The same of a layer of the model, or of a head for multi-token prediction after them, where a family may have other names.
std::string tensor_name(const Config& config, Role role, std::uint32_t layer, bool bias = false);
/// The family's name for the role: "attn_q"; `predicts`: in a head for multi-token prediction.
std::string_view name_of(const Architecture& family, Role role, bool predicts = false);

/// Whether products with the role's matrix in the layer (for roles of the model: any) may have a factor in a file (scale_name): one number,
/// or one a matrix of a stack. Other programs store it with NVFP4 and with weights that were eight-bit floats.
bool has_scale(const LayerConfig& layer, Role role);
/// "blk.3.attn_q.scale"; and of the input's scale beside it, which only rounded activations need.
std::string scale_name(const Config& config, Role role, std::uint32_t layer, bool of_input = false);

/// A role's tensors in a file; nullptr if none.
struct Parameter {
  const gguf::Tensor *weight = nullptr, *bias = nullptr, *scale = nullptr;
  explicit operator bool() const { return weight != nullptr; }
};

class Parameters {
 public:
  const Parameter& operator[](Role role) const { return of_[static_cast<std::size_t>(role)]; }
  Parameter& operator[](Role role) { return of_[static_cast<std::size_t>(role)]; }
  auto begin() const { return of_.begin(); }
  auto end() const { return of_.end(); }

 private:
  std::array<Parameter, role_count> of_{};
};

}  // namespace skipstone::model
