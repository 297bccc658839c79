#include "convert/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/number.h"
#include "base/status.h"
#include "gguf/gguf.h"

namespace skipstone::convert {
namespace {

using model::Config;
using model::LayerConfig;
using model::Role;
using model::TensorRole;

/// Prefixes of the language model's tensors: in its own checkpoint, or in a multimodal one, whose names for it have changed over time.
constexpr std::string_view model_prefix = "model.", lm_head_name = "lm_head";
constexpr std::array<std::string_view, 4> model_prefixes{model_prefix, "language_model.model.", "model.language_model.", "backbone."};
constexpr std::array<std::string_view, 2> head_names{lm_head_name, "language_model.lm_head"};

bool is_norm(Role role) {
  constexpr std::array norms{Role::output_norm,
                             Role::attention_norm,
                             Role::q_norm,
                             Role::k_norm,
                             Role::attention_post_norm,
                             Role::ffn_norm,
                             Role::ffn_post_norm,
                             Role::prediction_embedding_norm,
                             Role::prediction_hidden_norm,
                             Role::prediction_norm};
  return std::ranges::find(norms, role) != norms.end();
}

/// Looks tensors up by their names in the checkpoint and checks type and shape.
class Mapper {
 public:
  Mapper(const Checkpoint& checkpoint, const Safetensors& weights) : checkpoint_(checkpoint), weights_(weights), prefix_(find_prefix()) {}

  /// The role's name in checkpoints of the family; "" where they do not have it.
  std::string_view name_of(Role role) const {
    for (const model::RoleName& other : checkpoint_.traits().names) {
      if (other.role == role) return other.name;
    }
    return model::tensor_role(role).huggingface;
  }

  /// The checkpoint's name, such as "model.layers.3.self_attn.q_proj.weight". Those that GGUF does not call weights have names without it.
  std::string source_name(Role role, std::uint32_t layer, bool bias = false) const {
    const std::string_view name = name_of(role), kind = bias ? ".bias" : model::tensor_role(role).suffix == "weight" ? ".weight" : "";
    if (name.starts_with(prediction_prefix)) return fmt::format("{}{}", name, kind);
    const std::uint32_t layers = checkpoint_.config.layer_count();
    if (role >= model::first_layer_role && layer >= layers) {
      return fmt::format("{}layers.{}.{}{}", prediction_prefix, layer - layers, name, kind);
    }
    if (role >= model::first_layer_role) return fmt::format("{}layers.{}.{}{}", prefix_, layer, name, kind);
    if (role == Role::output) return head_name(kind);
    return fmt::format("{}{}{}", prefix_, name.substr(model_prefix.size()), kind);
  }

  /// The role's tensor, or its bias.
  void add(Role role, std::uint32_t layer = 0, bool bias = false) { add_from(role, source_name(role, layer, bias), layer, bias); }

  void add_from(Role role, const std::string& source, std::uint32_t layer = 0, bool bias = false) {
    if (bias && is_stacked(role))
      fail(Code::unsupported, "config.json says 'mlp_bias', which no such model has where gate and up are one matrix");
    const SourceTensor* tensor = weights_.find(source);
    const std::vector<std::uint64_t> shape = source_shape(role, layer, bias);
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
    MappedTensor mapped{.source = tensor,
                        .target = model::tensor_name(*checkpoint_.config.family, role, layer, bias),
                        .shape = target_shape(role, layer, bias)};
    if (is_stacked(role) && role == Role::up) mapped.first_row = mapped.shape[1];
    (mapped.shape.size() == 1 ? mapped.columns : mapped.rows) = row_order(role, layer);
    if (role == Role::ssm_out) mapped.columns = value_head_order(layer, Part::values);
    if (!bias && is_norm(role) && checkpoint_.has(model::norms_less_one)) mapped.change = [](float weight) { return weight + 1.0f; };
    if (role == Role::ssm_a) mapped.change = [](float log) { return -std::exp(log); };
    mapped_.push_back(std::move(mapped));
  }

  void drop(const SourceTensor* tensor) { used_.insert(tensor); }
  bool has(const SourceTensor* tensor) const { return used_.contains(tensor); }
  const std::string& prefix() const { return prefix_; }
  std::vector<MappedTensor> take() { return std::move(mapped_); }

 private:
  std::string find_prefix() const {
    for (const std::string_view prefix : model_prefixes) {
      const std::string first = fmt::format("{}layers.0.", prefix);
      if (std::ranges::any_of(weights_.tensors(), [&](const SourceTensor& each) { return each.name.starts_with(first); }))
        return std::string(prefix);
    }
    return std::string(model_prefix);  // nothing will be found; the error messages use the usual names
  }

  std::string head_name(std::string_view kind) const {
    for (const std::string_view head : head_names) {
      if (std::string name = fmt::format("{}{}", head, kind); weights_.find(name) != nullptr) return name;
    }
    return fmt::format("{}{}", lm_head_name, kind);
  }

  /// Whether the checkpoint has gate above up in one matrix, and the file has two.
  bool is_stacked(Role role) const { return (role == Role::gate || role == Role::up) && name_of(Role::gate) == name_of(Role::up); }

  /// Slowest first.
  std::vector<std::uint64_t> source_shape(Role role, std::uint32_t layer, bool bias) const {
    const model::TensorShape shape = model::tensor_shape(role, checkpoint_.config, layer);
    if (bias) return {shape.outputs};
    if (role == Role::shortconv_taps || role == Role::ssm_taps) return {shape.rows, 1, shape.columns};
    if (model::tensor_role(role).vector()) return {shape.columns * shape.rows};
    return {is_stacked(role) ? 2 * shape.rows : shape.rows, shape.columns};
  }

  /// Fastest first.
  std::vector<std::uint64_t> target_shape(Role role, std::uint32_t layer, bool bias) const {
    const model::TensorShape shape = model::tensor_shape(role, checkpoint_.config, layer);
    const bool mamba = std::holds_alternative<model::Mamba2>(checkpoint_.config.block(layer).mixer);
    if (bias) return {shape.outputs};
    if (mamba && (role == Role::ssm_a || role == Role::ssm_d)) return {1, shape.columns};  // as other readers expect them
    if (mamba && role == Role::ssm_norm) return {shape.columns, shape.rows};
    if (model::tensor_role(role).vector() && shape.rows == 1) return {shape.columns};
    return {shape.columns, shape.rows};
  }

  /// Rows of Q and K as their heads rotate, and rows of value heads.
  Order row_order(Role role, std::uint32_t layer) const {
    const Config& c = checkpoint_.config;
    if ((role == Role::q || role == Role::k) && c.rope_pairs == model::RopePairs::neighbours &&
        !checkpoint_.has(model::interleaved_heads)) {
      return [head_dim = c.attention().head_dim](std::uint64_t row) { return rotary_row(row, head_dim); };
    }
    switch (role) {
      case Role::ssm_gate:
        return value_head_order(layer, Part::values);
      case Role::ssm_beta:
      case Role::ssm_alpha:
      case Role::ssm_dt:
      case Role::ssm_a:
        return value_head_order(layer, Part::heads);
      case Role::qkv:
      case Role::ssm_taps:
        return value_head_order(layer, Part::channels);
      default:
        return {};
    }
  }

  /// What the places of a gated delta net's tensor are: heads, their values, or channels of Q, K and values.
  enum class Part : std::uint8_t { heads, values, channels };

  /// Checkpoints have the value heads of a key head together, files have those of all key heads in turn (GatedDeltaNet::tiled_heads).
  Order value_head_order(std::uint32_t layer, Part part) const {
    const auto* net = std::get_if<model::GatedDeltaNet>(&checkpoint_.config.block(layer).mixer);
    if (net == nullptr || !net->tiled_heads || net->key_heads == net->value_heads) return {};
    const std::uint64_t size = part == Part::heads ? 1 : net->value_dim, first = part == Part::channels ? 2 * net->key_width() : 0,
                        keys = net->key_heads, each = net->value_heads / net->key_heads;
    return [size, first, keys, each](std::uint64_t place) {
      if (place < first) return place;
      const std::uint64_t head = (place - first) / size;
      return first + (head % keys * each + head / keys) * size + (place - first) % size;
    };
  }

  const Checkpoint& checkpoint_;
  const Safetensors& weights_;
  std::string prefix_;
  std::unordered_set<const SourceTensor*> used_;
  std::vector<MappedTensor> mapped_;
};

/// Whether checkpoints of the family have a bias there, according to config.json. transformers knows no bias of an output matrix.
bool wants_bias(const Checkpoint& c, const LayerConfig& layer, Role role) {
  if (!model::has_bias(layer, role) || role == Role::output) return false;
  if (model::needs_bias(*c.config.family, layer, role)) return true;
  const model::Biases biases = c.config.family->biases;
  if (role == Role::q || role == Role::k || role == Role::v) return c.attention_bias;
  const bool of_qkv_alone = biases == model::Biases::qkv || biases == model::Biases::optional_qkv;
  return role == Role::o ? c.attention_bias && !of_qkv_alone : c.mlp_bias;
}

void map_role(const Checkpoint& c, Role role, std::uint32_t layer, Mapper& mapper) {
  mapper.add(role, layer);
  if (wants_bias(c, c.config.block(layer), role)) mapper.add(role, layer, true);
}

void map_layer(const Checkpoint& c, std::uint32_t layer, Mapper& mapper) {
  for (const TensorRole& row : model::tensor_roles()) {
    if (row.role >= model::first_layer_role && model::has_role(c.config.block(layer), row.role) && !mapper.name_of(row.role).empty()) {
      map_role(c, row.role, layer, mapper);
    }
  }
}

bool equal(const SourceTensor& a, const SourceTensor& b) { return a.dtype == b.dtype && a.shape == b.shape && a.data == b.data; }

/// Whether the embedding is the LM head too. A tied checkpoint may hold the LM head all the same, as a copy of the embedding, or the LM
/// head alone. Where config.json is silent, the tensors say it.
bool tied(const Checkpoint& c, const SourceTensor* embedding, const SourceTensor* head) {
  if (embedding == nullptr || head == nullptr) return c.tied_embeddings.value_or(true);
  const bool copy = equal(*embedding, *head);
  if (c.tied_embeddings.value_or(false) && !copy) {
    fail(Code::bad_file,
         "'tie_word_embeddings' is true in config.json, but '{}' is not equal to '{}'; set it to false if the model was trained so",
         head->name, embedding->name);
  }
  return c.tied_embeddings.value_or(copy);
}

void map_embedding_and_head(const Checkpoint& c, const Safetensors& weights, Mapper& mapper) {
  const SourceTensor* embedding = weights.find(mapper.source_name(Role::embedding, 0));
  const SourceTensor* head = weights.find(mapper.source_name(Role::output, 0));
  if (!tied(c, embedding, head)) {
    mapper.add(Role::embedding);
    mapper.add(Role::output);
  } else if (embedding == nullptr && head != nullptr) {
    mapper.add_from(Role::embedding, head->name);
  } else {
    mapper.add(Role::embedding);
    if (head != nullptr) mapper.drop(head);
  }
}

/// Rotary frequencies, which older checkpoints store although config.json determines them.
bool is_known_extra(std::string_view name) { return name.ends_with("rotary_emb.inv_freq"); }

/// A layer that config.json does not count; transformers does not run it either.
bool is_beyond_last_layer(std::string_view name, const std::string& prefix, std::uint32_t layers) {
  const std::string all = prefix + "layers.";
  if (!name.starts_with(all)) return false;
  name.remove_prefix(all.size());
  const std::size_t end = name.find('.');
  const auto layer = parse_number<std::uint32_t>(name.substr(0, end));
  return end != std::string_view::npos && layer && *layer >= layers;
}

/// Tensors within the model itself and biases are part of its computation; files carry all sorts of other tensors, multimodal ones the
/// vision and audio parts.
bool changes_computation(std::string_view name, const Checkpoint& c, const std::string& prefix) {
  if (is_beyond_last_layer(name, prefix, c.config.layer_count())) return false;
  const bool head = std::ranges::any_of(
      head_names, [&](std::string_view each) { return name.starts_with(each) && name.substr(each.size()).starts_with('.'); });
  return name.starts_with(prefix) || head || (!c.wrapped && name.ends_with(".bias"));
}

void check_rest(const Checkpoint& c, const Safetensors& weights, const Mapper& mapper) {
  constexpr std::size_t most = 5;  // warnings, one each
  std::size_t unknown = 0;
  for (const SourceTensor& tensor : weights.tensors()) {
    if (mapper.has(&tensor) || is_known_extra(tensor.name)) continue;
    if (changes_computation(tensor.name, c, mapper.prefix())) {
      fail(Code::unsupported, "tensor '{}' ({}) has no place in architecture {}; a model that computes with it cannot be converted",
           gguf::escaped(tensor.name), shape_text(tensor.shape), c.config.architecture);
    }
    if (++unknown <= most && !c.wrapped) log::warning("Tensor '{}' is not part of the model and is left out.", gguf::escaped(tensor.name));
  }
  if (c.wrapped && unknown > 0)
    log::warning("{} tensors are not of the language model and are left out; the file takes and gives text alone.", unknown);
  if (!c.wrapped && unknown > most) log::warning("{} more tensors are not part of the model and are left out.", unknown - most);
}

}  // namespace

std::vector<MappedTensor> map_tensors(const Checkpoint& checkpoint, const Safetensors& weights) {
  Mapper mapper(checkpoint, weights);
  map_embedding_and_head(checkpoint, weights, mapper);
  const auto heads = static_cast<std::uint32_t>(checkpoint.config.prediction_layers.size());
  for (std::uint32_t layer = 0; layer < checkpoint.config.layer_count() + heads; ++layer) map_layer(checkpoint, layer, mapper);
  map_role(checkpoint, Role::output_norm, 0, mapper);
  check_rest(checkpoint, weights, mapper);
  return mapper.take();
}

std::uint64_t rotary_row(std::uint64_t row, std::uint32_t head_dim) {
  const std::uint64_t within = row % head_dim;
  return row - within + (within % 2) * (head_dim / 2) + within / 2;
}

}  // namespace skipstone::convert
