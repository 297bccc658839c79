// Which tensor is which, by the names that GGUF gives them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/number.h"
#include "base/status.h"
#include "gguf/gguf.h"
#include "gguf/sparse.h"
#include "model/config.h"

namespace skipstone::model {

namespace {

std::string shape_text(const gguf::Tensor& tensor) {
  std::string text;
  for (std::uint32_t d = 0; d < tensor.dimensions; ++d) text += fmt::format("{}{}", d == 0 ? "" : "x", tensor.shape[d]);
  return text;
}

/// Looks tensors up by name and checks type and shape.
class Lookup {
 public:
  explicit Lookup(const gguf::File& file) : file_(file) {}

  /// A matrix of n rows of k weights; nullptr where it is absent and not required.
  const gguf::Tensor* matrix(const std::string& name, std::uint64_t k, std::uint64_t n, bool required = true) const {
    const gguf::Tensor* tensor = find(name, required);
    if (tensor == nullptr) return nullptr;
    const gguf::Traits& traits = gguf::traits(tensor->type);
    if (!traits.runnable) {
      fail(Code::unsupported, "Tensor '{}' has type {}, which this version cannot multiply with; it runs {}.", name, traits.name,
           gguf::runnable_names());
    }
    if (tensor->shape != std::array<std::uint64_t, 4>{k, n, 1, 1}) {
      fail(Code::bad_file, "Tensor '{}' has shape {}, expected {}x{} by the model's metadata.", name, shape_text(*tensor), k, n);
    }
    if (k % traits.block != 0) {
      fail(Code::bad_file, "Tensor '{}' has rows of {} weights, which do not divide into the blocks of {} of type {}.", name, k,
           traits.block, traits.name);
    }
    gguf::check_places(*tensor, file_.path());
    return tensor;
  }

  /// A norm's weight or a bias: n floats.
  const gguf::Tensor* vector(const std::string& name, std::uint64_t n, bool required) const {
    const gguf::Tensor* tensor = find(name, required);
    if (tensor == nullptr) return nullptr;
    if (tensor->type != gguf::Type::f32 && tensor->type != gguf::Type::f16) {
      fail(Code::unsupported, "Tensor '{}' has type {}; norms and biases must be F32 or F16.", name, gguf::traits(tensor->type).name);
    }
    if (tensor->shape != std::array<std::uint64_t, 4>{n, 1, 1, 1}) {
      fail(Code::bad_file, "Tensor '{}' has shape {}, expected {} by the model's metadata.", name, shape_text(*tensor), n);
    }
    return tensor;
  }

 private:
  const gguf::Tensor* find(const std::string& name, bool required) const {
    const gguf::Tensor* tensor = file_.find_tensor(name);
    if (tensor == nullptr && required) {
      fail(Code::bad_file, "Tensor '{}' is missing; the file is incomplete or was converted for another layout.", name);
    }
    return tensor;
  }

  const gguf::File& file_;
};

LayerTensors find_layer(const Lookup& lookup, const Config& c, bool fused, std::uint32_t layer) {
  const std::string prefix = fmt::format("blk.{}.", layer);
  const auto weight = [&](std::string_view name, std::uint64_t k, std::uint64_t n) {
    return lookup.matrix(fmt::format("{}{}.weight", prefix, name), k, n);
  };
  const auto norm = [&](std::string_view name) { return lookup.vector(fmt::format("{}{}.weight", prefix, name), c.width, true); };
  const auto bias = [&](std::string_view name, std::uint64_t n) { return lookup.vector(fmt::format("{}{}.bias", prefix, name), n, false); };
  LayerTensors t;
  t.attention_norm = norm("attn_norm");
  if (fused) {
    t.qkv = weight("attn_qkv", c.width, c.q_width() + 2 * c.kv_width());
  } else {
    t.q = weight("attn_q", c.width, c.q_width());
    t.k = weight("attn_k", c.width, c.kv_width());
    t.v = weight("attn_v", c.width, c.kv_width());
  }
  if (c.layer(layer).qk_norm) {
    t.q_norm = lookup.vector(prefix + "attn_q_norm.weight", c.head_dim, true);
    t.k_norm = lookup.vector(prefix + "attn_k_norm.weight", c.head_dim, true);
  }
  t.o = weight("attn_output", c.q_width(), c.width);
  t.q_bias = bias("attn_q", c.q_width());
  t.k_bias = bias("attn_k", c.kv_width());
  t.v_bias = bias("attn_v", c.kv_width());
  if ((t.q_bias == nullptr) != (t.k_bias == nullptr) || (t.q_bias == nullptr) != (t.v_bias == nullptr)) {
    fail(Code::bad_file,
         "{0}attn_q.bias, {0}attn_k.bias and {0}attn_v.bias: some are there and some are not; a model has all of them or none", prefix);
  }
  t.o_bias = bias("attn_output", c.width);
  t.ffn_norm = norm("ffn_norm");
  if (fused) {
    t.gate_up = weight("ffn_up", c.width, 2 * c.ffn);
  } else {
    t.gate = weight("ffn_gate", c.width, c.ffn);
    t.up = weight("ffn_up", c.width, c.ffn);
  }
  t.down = weight("ffn_down", c.ffn, c.width);
  t.gate_bias = bias("ffn_gate", c.ffn);
  t.up_bias = bias("ffn_up", c.ffn);
  if ((t.gate_bias == nullptr) != (t.up_bias == nullptr))
    fail(Code::bad_file, "one of {0}ffn_gate.bias and {0}ffn_up.bias is there and the other is not; a model has both or none", prefix);
  t.down_bias = bias("ffn_down", c.width);
  return t;
}

/// True for the names that find_layer() looks for, without their "blk.N.".
bool known_in_layer(std::string_view name, const Architecture& row) {
  constexpr std::array<std::string_view, 7> apart{"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"};
  constexpr std::array<std::string_view, 4> together{"attn_qkv", "attn_output", "ffn_up", "ffn_down"};
  const std::span<const std::string_view> matrices = row.fused ? std::span<const std::string_view>(together) : apart;
  if (name == "attn_norm.weight" || name == "ffn_norm.weight") return true;
  if (row.qk_norm && (name == "attn_q_norm.weight" || name == "attn_k_norm.weight")) return true;
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view role = name.substr(dot + 1);
  return (role == "weight" || role == "bias") && std::ranges::find(matrices, name.substr(0, dot)) != matrices.end();
}

/// The layer of a name like "blk.12.attn_q.weight", and what follows its second dot; nothing for other names.
std::optional<std::pair<std::uint32_t, std::string_view>> split_layer(std::string_view name) {
  constexpr std::string_view prefix = "blk.";
  const std::size_t dot = name.find('.', prefix.size());
  if (!name.starts_with(prefix) || dot == std::string_view::npos) return std::nullopt;
  const auto layer = parse_number<std::uint32_t>(name.substr(prefix.size(), dot - prefix.size()));
  if (!layer) return std::nullopt;
  return std::pair(*layer, name.substr(dot + 1));
}

/// A model runs with all of its tensors or not at all: what is left over means that the metadata speaks of another model, or that something
/// is computed that we do not know. Left out may only be the inverse rotary frequencies that early converters stored and nobody reads.
void check_known(const gguf::Tensor& tensor, const gguf::File& file, const Config& config, const Architecture& row) {
  constexpr std::array<std::string_view, 5> global{"token_embd.weight", "output_norm.weight", "output.weight", "output.bias",
                                                   "rope_freqs.weight"};
  if (std::ranges::find(global, tensor.name) != global.end()) return;
  if (row.long_rope && (tensor.name == "rope_factors_short.weight" || tensor.name == "rope_factors_long.weight")) return;
  if (const auto part = split_layer(tensor.name)) {
    const auto& [layer, rest] = *part;
    if (layer >= config.layers) {
      fail(Code::bad_file,
           "{}: tensor '{}' is of layer {}, but by its metadata the model has {} layers, numbered from 0; the file is damaged", file.path(),
           shortened(tensor.name), layer, config.layers);
    }
    if (known_in_layer(rest, row) || rest == "attn_rot_embd.weight") return;
  }
  fail(Code::unsupported, "Tensor '{}' belongs to a computation that this version does not have for architecture '{}'.",
       shortened(tensor.name), shortened(config.architecture));
}

}  // namespace

ModelTensors find_tensors(const gguf::File& file, const Config& config) {
  // Unknown weights first: a fused attn_qkv says more about the file than the attn_q that is missing beside it.
  const Architecture& row = *std::ranges::find(architectures(), config.architecture, &Architecture::name);
  for (const gguf::Tensor& tensor : file.tensors()) check_known(tensor, file, config, row);
  const Lookup lookup(file);
  ModelTensors tensors;
  tensors.embedding = lookup.matrix("token_embd.weight", config.width, config.vocabulary);
  tensors.output_norm = lookup.vector("output_norm.weight", config.width, true);
  tensors.output = lookup.matrix("output.weight", config.width, config.vocabulary, false);
  if (tensors.output == nullptr) tensors.output = tensors.embedding;
  tensors.output_bias = lookup.vector("output.bias", config.vocabulary, false);
  for (std::uint32_t layer = 0; layer < config.layers; ++layer) tensors.layers.push_back(find_layer(lookup, config, row.fused, layer));
  return tensors;
}

}  // namespace skipstone::model
