#include "convert/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_set>

#include "base/log.h"
#include "base/status.h"
#include "gguf/gguf.h"

namespace skipstone::convert {
namespace {

constexpr std::string_view kEmbedding = "model.embed_tokens.weight", kHead = "lm_head.weight", kLayers = "model.layers.";

/// Looks tensors up by their names in the checkpoint and checks type and shape.
class Mapper {
 public:
  explicit Mapper(const Safetensors& weights) : weights_(weights) {}

  void add(const std::string& source, std::string target, std::vector<std::uint64_t> shape, std::uint32_t permuted_heads = 0) {
    const SourceTensor* tensor = weights_.find(source);
    if (tensor == nullptr) {
      fail(Code::bad_file, "tensor '{}' ({}) is missing; the checkpoint is incomplete, or its config.json is of another model", source,
           shape_text(shape));
    }
    if (tensor->shape != shape) {
      fail(Code::bad_file, "tensor '{}' has the shape {}, expected {} by config.json", source, shape_text(tensor->shape),
           shape_text(shape));
    }
    weight_type(*tensor);
    used_.insert(tensor);
    mapped_.push_back({tensor, std::move(target), permuted_heads});
  }

  void drop(const SourceTensor* tensor) { used_.insert(tensor); }
  bool has(const SourceTensor* tensor) const { return used_.contains(tensor); }
  std::vector<MappedTensor> take() { return std::move(mapped_); }

 private:
  const Safetensors& weights_;
  std::unordered_set<const SourceTensor*> used_;
  std::vector<MappedTensor> mapped_;
};

void map_layer(const Checkpoint& c, std::uint32_t layer, Mapper& mapper) {
  const auto add = [&](const char* source, const char* target, std::vector<std::uint64_t> shape, std::uint32_t heads = 0) {
    mapper.add(fmt::format("{}{}.{}.weight", kLayers, layer, source), fmt::format("blk.{}.{}.weight", layer, target), std::move(shape),
               heads);
  };
  const std::uint64_t width = c.width, ffn = c.ffn, q = c.q_width(), kv = c.kv_width();
  add("input_layernorm", "attn_norm", {width});
  add("self_attn.q_proj", "attn_q", {q, width}, c.heads);
  add("self_attn.k_proj", "attn_k", {kv, width}, c.kv_heads);
  add("self_attn.v_proj", "attn_v", {kv, width});
  add("self_attn.o_proj", "attn_output", {width, q});
  add("post_attention_layernorm", "ffn_norm", {width});
  add("mlp.gate_proj", "ffn_gate", {ffn, width});
  add("mlp.up_proj", "ffn_up", {ffn, width});
  add("mlp.down_proj", "ffn_down", {width, ffn});
}

/// A tied checkpoint may hold the LM head all the same, as a copy of the embedding.
void map_head(const Checkpoint& c, const Safetensors& weights, Mapper& mapper) {
  if (!c.tied_embeddings) return mapper.add(std::string(kHead), "output.weight", {c.vocabulary, c.width});
  const SourceTensor* head = weights.find(kHead);
  if (head == nullptr) return;
  const SourceTensor* embedding = weights.find(kEmbedding);
  if (head->dtype != embedding->dtype || head->shape != embedding->shape || !(head->data == embedding->data)) {
    fail(Code::bad_file,
         "'tie_word_embeddings' is true in config.json, but '{}' is not equal to '{}'; set it to false if the model was trained so", kHead,
         kEmbedding);
  }
  mapper.drop(head);
}

/// Rotary frequencies, which older checkpoints store though config.json says all about them.
bool is_known_extra(std::string_view name) { return name.ends_with("rotary_emb.inv_freq"); }

/// A layer that config.json does not count; transformers does not run it either.
bool is_beyond_last_layer(std::string_view name, std::uint32_t layers) {
  if (!name.starts_with(kLayers)) return false;
  std::uint32_t layer = 0;
  const auto [end, error] = std::from_chars(name.data() + kLayers.size(), name.data() + name.size(), layer);
  return error == std::errc() && end != name.data() + name.size() && *end == '.' && layer >= layers;
}

/// What stands in the model itself or is a bias is part of its computation; beside it files carry all sorts of extras.
bool changes_computation(std::string_view name, std::uint32_t layers) {
  if (is_beyond_last_layer(name, layers)) return false;
  return name.starts_with("model.") || name.starts_with("lm_head.") || name.ends_with(".bias");
}

void check_rest(const Checkpoint& c, const Safetensors& weights, const Mapper& mapper) {
  constexpr std::size_t most = 5;  // warnings, one each
  std::size_t unknown = 0;
  for (const SourceTensor& tensor : weights.tensors()) {
    if (mapper.has(&tensor) || is_known_extra(tensor.name)) continue;
    if (changes_computation(tensor.name, c.layers)) {
      fail(Code::unsupported, "tensor '{}' ({}) has no place in the Llama architecture; a model that computes with it cannot be converted",
           gguf::escaped(tensor.name), shape_text(tensor.shape));
    }
    if (++unknown <= most) log::warning("Tensor '{}' is not part of the model and is left out.", gguf::escaped(tensor.name));
  }
  if (unknown > most) log::warning("{} more tensors are not part of the model and are left out.", unknown - most);
}

}  // namespace

std::vector<MappedTensor> map_tensors(const Checkpoint& checkpoint, const Safetensors& weights) {
  Mapper mapper(weights);
  mapper.add(std::string(kEmbedding), "token_embd.weight", {checkpoint.vocabulary, checkpoint.width});
  for (std::uint32_t layer = 0; layer < checkpoint.layers; ++layer) map_layer(checkpoint, layer, mapper);
  mapper.add("model.norm.weight", "output_norm.weight", {checkpoint.width});
  map_head(checkpoint, weights, mapper);
  check_rest(checkpoint, weights, mapper);
  return mapper.take();
}

std::uint64_t rotary_row(std::uint64_t row, std::uint32_t head_dim) {
  const std::uint64_t within = row % head_dim;
  return row - within + (within % 2) * (head_dim / 2) + within / 2;
}

}  // namespace skipstone::convert
