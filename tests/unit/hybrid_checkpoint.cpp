// The checkpoints from which GGUF files of models with recurrent layers were made: names, shapes and orders of transformers.
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "convert_fixture.h"

namespace skipstone::convert {
namespace {

using fixtures::CheckpointTensor;
using Names = std::map<std::string, std::string>;

// In GGUF after "blk.N.", and in the checkpoint after the layer's number: transformers' modeling_*.py.
const Names lfm2_names{{"attn_norm.weight", "operator_norm.weight"},           {"ffn_norm.weight", "ffn_norm.weight"},
                       {"attn_q.weight", "self_attn.q_proj.weight"},           {"attn_k.weight", "self_attn.k_proj.weight"},
                       {"attn_v.weight", "self_attn.v_proj.weight"},           {"attn_output.weight", "self_attn.out_proj.weight"},
                       {"attn_q_norm.weight", "self_attn.q_layernorm.weight"}, {"attn_k_norm.weight", "self_attn.k_layernorm.weight"},
                       {"ffn_gate.weight", "feed_forward.w1.weight"},          {"ffn_up.weight", "feed_forward.w3.weight"},
                       {"ffn_down.weight", "feed_forward.w2.weight"},          {"shortconv.in_proj.weight", "conv.in_proj.weight"},
                       {"shortconv.conv.weight", "conv.conv.weight"},          {"shortconv.out_proj.weight", "conv.out_proj.weight"}};
const Names qwen35_names{{"attn_norm.weight", "input_layernorm.weight"},
                         {"post_attention_norm.weight", "post_attention_layernorm.weight"},
                         {"attn_q.weight", "self_attn.q_proj.weight"},
                         {"attn_k.weight", "self_attn.k_proj.weight"},
                         {"attn_v.weight", "self_attn.v_proj.weight"},
                         {"attn_output.weight", "self_attn.o_proj.weight"},
                         {"attn_q_norm.weight", "self_attn.q_norm.weight"},
                         {"attn_k_norm.weight", "self_attn.k_norm.weight"},
                         {"ffn_gate.weight", "mlp.gate_proj.weight"},
                         {"ffn_up.weight", "mlp.up_proj.weight"},
                         {"ffn_down.weight", "mlp.down_proj.weight"},
                         {"attn_qkv.weight", "linear_attn.in_proj_qkv.weight"},
                         {"attn_gate.weight", "linear_attn.in_proj_z.weight"},
                         {"ssm_alpha.weight", "linear_attn.in_proj_a.weight"},
                         {"ssm_beta.weight", "linear_attn.in_proj_b.weight"},
                         {"ssm_conv1d.weight", "linear_attn.conv1d.weight"},
                         {"ssm_dt.bias", "linear_attn.dt_bias"},
                         {"ssm_a", "linear_attn.A_log"},
                         {"ssm_norm.weight", "linear_attn.norm.weight"},
                         {"ssm_out.weight", "linear_attn.out_proj.weight"}};
const Names qwen35_head_names{{"nextn.eh_proj.weight", "mtp.fc.weight"},
                              {"nextn.enorm.weight", "mtp.pre_fc_norm_embedding.weight"},
                              {"nextn.hnorm.weight", "mtp.pre_fc_norm_hidden.weight"},
                              {"nextn.shared_head_norm.weight", "mtp.norm.weight"}};
const Names granite_names{{"attn_norm.weight", "input_layernorm.weight"},
                          {"ffn_norm.weight", "post_attention_layernorm.weight"},
                          {"attn_q.weight", "self_attn.q_proj.weight"},
                          {"attn_k.weight", "self_attn.k_proj.weight"},
                          {"attn_v.weight", "self_attn.v_proj.weight"},
                          {"attn_output.weight", "self_attn.o_proj.weight"},
                          {"ffn_gate.weight", "shared_mlp.input_linear.weight"},
                          {"ffn_up.weight", ""},  // below the gate
                          {"ffn_down.weight", "shared_mlp.output_linear.weight"},
                          {"ssm_in.weight", "mamba.in_proj.weight"},
                          {"ssm_conv1d.weight", "mamba.conv1d.weight"},
                          {"ssm_conv1d.bias", "mamba.conv1d.bias"},
                          {"ssm_dt.bias", "mamba.dt_bias"},
                          {"ssm_a", "mamba.A_log"},
                          {"ssm_d", "mamba.D"},
                          {"ssm_norm.weight", "mamba.norm.weight"},
                          {"ssm_out.weight", "mamba.out_proj.weight"}};
const Names nemotron_names{{"attn_norm.weight", "norm.weight"},
                           {"attn_q.weight", "mixer.q_proj.weight"},
                           {"attn_k.weight", "mixer.k_proj.weight"},
                           {"attn_v.weight", "mixer.v_proj.weight"},
                           {"attn_output.weight", "mixer.o_proj.weight"},
                           {"ffn_up.weight", "mixer.up_proj.weight"},
                           {"ffn_down.weight", "mixer.down_proj.weight"},
                           {"ssm_in.weight", "mixer.in_proj.weight"},
                           {"ssm_conv1d.weight", "mixer.conv1d.weight"},
                           {"ssm_conv1d.bias", "mixer.conv1d.bias"},
                           {"ssm_dt.bias", "mixer.dt_bias"},
                           {"ssm_a", "mixer.A_log"},
                           {"ssm_d", "mixer.D"},
                           {"ssm_norm.weight", "mixer.norm.weight"},
                           {"ssm_out.weight", "mixer.out_proj.weight"}};

struct Source {
  const gguf::File& file;
  std::string architecture;
  std::uint64_t number(const std::string& key) const { return file.required_integer(architecture + "." + key); }
};

/// Names outside the layers.
Names global_names(const Source& source) {
  const bool backbone = source.architecture == "nemotron_h";
  return {{"token_embd.weight", backbone ? "backbone.embeddings.weight" : "model.embed_tokens.weight"},
          {"output_norm.weight", backbone ? "backbone.norm_f.weight" : "model.norm.weight"},
          {"token_embd_norm.weight", "model.embedding_norm.weight"},
          {"output.weight", "lm_head.weight"}};
}

const Names& layer_names(const Source& source) {
  return source.architecture == "lfm2"            ? lfm2_names
         : source.architecture == "qwen35"        ? qwen35_names
         : source.architecture == "granitehybrid" ? granite_names
                                                  : nemotron_names;
}

std::string name_of(const Source& source, const std::string& name) {
  if (!name.starts_with("blk.")) return global_names(source).at(name);
  const std::size_t dot = name.find('.', 4);
  const std::string layer = name.substr(4, dot - 4), inner = name.substr(dot + 1);
  if (qwen35_head_names.contains(inner)) return qwen35_head_names.at(inner);
  const std::string own = layer_names(source).at(inner);
  if (own.empty()) return {};
  const bool head = source.architecture == "qwen35" && std::stoull(layer) + 1 == source.number("block_count");
  if (head) return "mtp.layers.0." + own;
  return (source.architecture == "nemotron_h" ? "backbone.layers." : "model.layers.") + layer + "." + own;
}

std::vector<float> floats_of(const gguf::Tensor& tensor) {
  std::vector<float> values(tensor.elements());
  gguf::dequantize(tensor, values);
  return values;
}

/// Parts of `size` numbers: those of value heads, which the file has in turns over the key heads, by key head. `first`: numbers before.
void group_heads(const Source& source, std::vector<float>& values, std::size_t first, std::size_t size) {
  const std::size_t keys = source.number("ssm.group_count"), heads = source.number("ssm.time_step_rank");
  const std::vector<float> tiled = values;
  for (std::size_t head = 0; head < heads; ++head) {
    const std::size_t key = head / (heads / keys), turn = head % (heads / keys), from = turn * keys + key;
    std::copy_n(tiled.begin() + static_cast<std::ptrdiff_t>(first + from * size), size,
                values.begin() + static_cast<std::ptrdiff_t>(first + head * size));
  }
}

void undo_heads(const Source& source, const std::string& inner, std::size_t length, std::vector<float>& values) {
  const std::size_t heads = source.number("ssm.time_step_rank"), value_dim = source.number("ssm.inner_size") / heads;
  const std::size_t keys = 2 * source.number("ssm.group_count") * source.number("ssm.state_size");
  if (inner == "attn_qkv.weight" || inner == "ssm_conv1d.weight") group_heads(source, values, keys * length, value_dim * length);
  if (inner == "attn_gate.weight") group_heads(source, values, 0, value_dim * length);
  if (inner == "ssm_alpha.weight" || inner == "ssm_beta.weight") group_heads(source, values, 0, length);
  if (inner == "ssm_a" || inner == "ssm_dt.bias") group_heads(source, values, 0, 1);
  if (inner == "ssm_out.weight") {
    for (std::size_t row = 0; row < values.size(); row += length) group_heads(source, values, row, value_dim);
  }
}

/// Halves of heads from neighbouring pairs.
void undo_pairs(std::vector<float>& values, std::size_t head_dim, std::size_t length) {
  const std::vector<float> pairs = values;
  for (std::size_t row = 0; row < values.size() / length; ++row) {
    const std::size_t within = row % head_dim, target = row - within + (within % 2) * (head_dim / 2) + within / 2;
    std::copy_n(pairs.begin() + static_cast<std::ptrdiff_t>(row * length), length,
                values.begin() + static_cast<std::ptrdiff_t>(target * length));
  }
}

CheckpointTensor tensor_of(const Source& source, const gguf::Tensor& tensor, std::string name) {
  const std::string inner = tensor.name.substr(tensor.name.find('.', 4) + 1);
  std::vector<float> values = floats_of(tensor);
  const std::uint64_t length = tensor.row_length();
  std::vector<std::uint64_t> shape;
  for (std::uint32_t i = tensor.dimensions; i-- > 0;) shape.push_back(tensor.shape[i]);
  if (inner == "ssm_a" || inner == "ssm_d" || inner == "ssm_norm.weight") shape = {values.size()};
  if (inner == "ssm_conv1d.weight" || inner == "shortconv.conv.weight") shape.insert(shape.begin() + 1, 1);
  if (inner == "ssm_a") {
    for (float& value : values) value = std::log(-value);
  }
  if (source.architecture == "qwen35") {
    undo_heads(source, inner, length, values);
    if (name.find("norm") != std::string::npos && inner != "ssm_norm.weight") {
      for (float& value : values) value -= 1.0f;
    }
  }
  if (source.architecture == "granitehybrid" && (inner == "attn_q.weight" || inner == "attn_k.weight")) {
    const std::uint64_t usual = source.number("embedding_length") / source.number("attention.head_count");
    undo_pairs(values, source.file.integer("granitehybrid.attention.key_length", usual), length);
  }
  if (name.ends_with("shared_mlp.input_linear.weight")) {
    const std::string up = tensor.name.substr(0, tensor.name.size() - inner.size()) + "ffn_up.weight";
    const std::vector<float> below = floats_of(*source.file.find_tensor(up));
    values.insert(values.end(), below.begin(), below.end());
    shape[0] *= 2;
  }
  CheckpointTensor out{std::move(name), "F32", std::move(shape), {}};
  out.bytes.assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return out;
}

}  // namespace

std::vector<CheckpointTensor> hybrid_checkpoint(const gguf::File& file) {
  const Source source{file, file.string("general.architecture", "")};
  std::vector<CheckpointTensor> tensors;
  for (const gguf::Tensor& tensor : file.tensors()) {
    if (std::string name = name_of(source, tensor.name); !name.empty()) tensors.push_back(tensor_of(source, tensor, std::move(name)));
  }
  return tensors;
}

}  // namespace skipstone::convert
