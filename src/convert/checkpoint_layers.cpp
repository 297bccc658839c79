// Kinds of layers in config.json, and the sizes of recurrent ones.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "convert/checkpoint.h"
#include "json/json.h"
#include "json/parse_json.h"

namespace skipstone::convert {
namespace {

using model::Architecture;
using model::Config;
using model::most_ffn, model::most_heads, model::most_kernel, model::most_layers, model::most_state_dim;

enum class LayerKind : std::uint8_t { attention, recurrent, mlp };

/// What layers are called, by the name of a layer and by its letter in "hybrid_override_pattern".
struct KindName {
  std::string_view name;
  char letter;
  LayerKind kind;
};
constexpr KindName kind_names[] = {{"full_attention", '\0', LayerKind::attention}, {"attention", '*', LayerKind::attention},
                                   {"conv", '\0', LayerKind::recurrent},           {"linear_attention", '\0', LayerKind::recurrent},
                                   {"mamba", 'M', LayerKind::recurrent},           {"mlp", '-', LayerKind::mlp}};

std::string_view recurrent_name(const model::Mixer& mixer) {
  if (std::holds_alternative<model::ShortConv>(mixer)) return "conv";
  return std::holds_alternative<model::GatedDeltaNet>(mixer) ? "linear_attention" : "mamba";
}

bool may_have(const Architecture& family, const KindName& row) {
  if (row.kind == LayerKind::recurrent) return row.name == recurrent_name(family.recurrent);
  return row.kind == LayerKind::attention || family.one_sublayer;
}

/// The first of the keys that config.json has; the last one where it has none.
const char* key_of(const ConfigValues& values, std::initializer_list<const char*> keys) {
  const auto found = std::ranges::find_if(keys, [&](const char* key) { return values.has(key); });
  return found == keys.end() ? *(keys.end() - 1) : *found;
}

template <typename Matches>
LayerKind kind_of(const ConfigValues& values, const Architecture& family, const char* key, const SortedJson& item, const Matches& matches) {
  for (const KindName& row : kind_names) {
    if (matches(row) && may_have(family, row)) return row.kind;
  }
  fail(Code::unsupported, "{}: '{}' has {}; a model of architecture {} with such layers cannot be converted", values.where(), key,
       shown(item), family.name);
}

[[noreturn]] void refuse_count(const ConfigValues& values, const char* key, const SortedJson& item, std::size_t layers) {
  fail(Code::bad_file, "{}: '{}' is {}, expected an item for each of the {} layers", values.where(), key, shown(item), layers);
}

std::vector<LayerKind> listed_kinds(const ConfigValues& values, const Architecture& family, const char* key, std::size_t layers) {
  const SortedJson& list = *values.find(key);
  if (!list.is_array() || list.size() != layers) refuse_count(values, key, list, layers);
  std::vector<LayerKind> kinds;
  for (const SortedJson& item : list) {
    kinds.push_back(kind_of(values, family, key, item, [&](const KindName& row) { return item == std::string(row.name); }));
  }
  return kinds;
}

std::vector<LayerKind> lettered_kinds(const ConfigValues& values, const Architecture& family, const char* key, std::size_t layers) {
  const SortedJson& pattern = *values.find(key);
  const std::string letters = values.text(key, "");
  if (letters.size() != layers) refuse_count(values, key, pattern, layers);
  std::vector<LayerKind> kinds;
  for (const char letter : letters) {
    kinds.push_back(kind_of(values, family, key, pattern, [&](const KindName& row) { return row.letter != '\0' && row.letter == letter; }));
  }
  return kinds;
}

/// "full_attn_idxs": the layers with attention.
std::vector<LayerKind> counted_kinds(const ConfigValues& values, const char* key, std::size_t layers) {
  std::vector<LayerKind> kinds(layers, LayerKind::recurrent);
  const SortedJson& list = *values.find(key);
  if (!list.is_array()) fail(Code::bad_file, "{}: '{}' is {}, expected an array of layers", values.where(), key, shown(list));
  for (const SortedJson& item : list) {
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() >= layers) {
      fail(Code::bad_file, "{}: '{}' has {}, expected layers 0 to {}", values.where(), key, shown(item), layers - 1);
    }
    kinds[item.get<std::size_t>()] = LayerKind::attention;
  }
  return kinds;
}

constexpr const char *list_keys[] = {"layer_types", "layers_block_type"}, *letters_key = "hybrid_override_pattern";

std::vector<LayerKind> read_kinds(const ConfigValues& values, const Architecture& family, std::size_t layers) {
  for (const char* key : list_keys) {
    if (values.has(key)) return listed_kinds(values, family, key, layers);
  }
  if (values.has(letters_key)) return lettered_kinds(values, family, letters_key, layers);
  if (values.has("full_attn_idxs")) return counted_kinds(values, "full_attn_idxs", layers);
  std::vector<LayerKind> kinds(layers, LayerKind::attention);
  if (family.attention_every == 0) return kinds;
  const std::uint32_t every = values.count("full_attention_interval", 1, most_layers, family.attention_every);
  for (std::size_t i = 0; i < layers; ++i) kinds[i] = (i + 1) % every == 0 ? LayerKind::attention : LayerKind::recurrent;
  return kinds;
}

void check_length(const ConfigValues& values, const char* what, std::uint32_t length) {
  if (length % 4 != 0) fail(Code::unsupported, "{}: '{}' is {}; Skipstone runs multiples of 4", values.where(), what, length);
}

std::uint32_t read_length(const ConfigValues& values, const char* key, std::uint32_t most, std::optional<std::uint32_t> fallback = {}) {
  const std::uint32_t length = values.count(key, 1, most, fallback);
  check_length(values, key, length);
  return length;
}

void refuse_flag(const ConfigValues& values, const char* key, bool wanted) {
  if (values.flag(key, wanted) == wanted) return;
  fail(Code::unsupported, "{}: '{}' is {}; only {} can be converted", values.where(), key, !wanted, wanted);
}

/// `all`: heads; they divide among `groups`.
void check_groups(const ConfigValues& values, const char* all, std::uint32_t heads, const char* shares, std::uint32_t groups) {
  if (heads % groups == 0) return;
  fail(Code::bad_file, "{}: {} '{}' do not divide among {} '{}'", values.where(), heads, all, groups, shares);
}

/// The widths of all heads together.
std::uint32_t inner_size(const ConfigValues& values, std::uint32_t heads, std::uint32_t head_dim) {
  const std::uint64_t inner = std::uint64_t{heads} * head_dim;
  if (inner > most_ffn) {
    fail(Code::bad_file, "{}: {} recurrent heads of {} dimensions are {}, expected at most {}", values.where(), heads, head_dim, inner,
         most_ffn);
  }
  return static_cast<std::uint32_t>(inner);
}

struct StateKeys {
  std::uint32_t inner, heads, groups, size, kernel;
};

void set_state_keys(Checkpoint& checkpoint, const StateKeys& keys) {
  set_key(checkpoint, "ssm.conv_kernel", keys.kernel);
  set_key(checkpoint, "ssm.state_size", keys.size);
  set_key(checkpoint, "ssm.group_count", keys.groups);
  set_key(checkpoint, "ssm.time_step_rank", keys.heads);
  set_key(checkpoint, "ssm.inner_size", keys.inner);
}

// Each kind of recurrent mixer has a function that reads its sizes and sets its keys.

model::Mixer read_mixer(const ConfigValues& values, Checkpoint& checkpoint, const model::ShortConv&) {
  refuse_flag(values, "conv_bias", false);
  const model::ShortConv conv{values.count("conv_L_cache", 2, most_kernel, 3)};
  set_key(checkpoint, "shortconv.l_cache", conv.kernel);
  return conv;
}

model::Mixer read_mixer(const ConfigValues& values, Checkpoint& checkpoint, const model::GatedDeltaNet& like) {
  constexpr const char *key_heads = "linear_num_key_heads", *value_heads = "linear_num_value_heads";
  refuse_flag(values, "attn_output_gate", true);
  model::GatedDeltaNet net = like;
  net.key_heads = values.count(key_heads, 1, most_heads, 16);
  net.value_heads = values.count(value_heads, 1, most_heads, 32);
  net.key_dim = read_length(values, "linear_key_head_dim", most_state_dim, 128);
  net.value_dim = read_length(values, "linear_value_head_dim", most_state_dim, 128);
  net.kernel = values.count("linear_conv_kernel_dim", 2, most_kernel, 4);
  check_groups(values, value_heads, net.value_heads, key_heads, net.key_heads);
  inner_size(values, net.key_heads, net.key_dim);
  set_state_keys(checkpoint, {.inner = inner_size(values, net.value_heads, net.value_dim),
                              .heads = net.value_heads,
                              .groups = net.key_heads,
                              .size = net.key_dim,
                              .kernel = net.kernel});
  return net;
}

/// Steps of time that transformers would cut are not in GGUF files.
void check_time_steps(const ConfigValues& values) {
  constexpr const char* key = "time_step_limit";
  const SortedJson* limit = values.find(key);
  if (limit == nullptr) return;
  const bool from_0 = limit->is_array() && limit->size() == 2 && limit->front().is_number() && limit->front().get<double>() == 0.0;
  // transformers writes infinity as an object too.
  const bool unlimited = from_0 && (limit->back().is_null() || limit->back() == SortedJson{{"__float__", "Infinity"}} ||
                                    (limit->back().is_number() && limit->back().get<double>() > 1e30));
  if (!unlimited)
    fail(Code::unsupported, "{}: '{}' is {}; only steps without a limit can be converted", values.where(), key, shown(*limit));
}

model::Mixer read_mixer(const ConfigValues& values, Checkpoint& checkpoint, const model::Mamba2&) {
  for (const char* key : {"mamba_proj_bias", "use_bias"}) refuse_flag(values, key, false);
  for (const char* key : {"mamba_conv_bias", "use_conv_bias"}) refuse_flag(values, key, true);
  if (const std::string act = values.text("mamba_hidden_act", "silu"); act != "silu") {
    fail(Code::unsupported, "{}: 'mamba_hidden_act' is '{}'; only silu can be converted", values.where(), gguf::escaped(act));
  }
  check_time_steps(values);
  const char* heads = key_of(values, {"mamba_n_heads", "mamba_num_heads"});
  const char* groups = key_of(values, {"mamba_n_groups", "n_groups"});
  model::Mamba2 mamba;
  mamba.heads = values.count(heads, 1, most_heads);
  mamba.head_dim = read_length(values, key_of(values, {"mamba_d_head", "mamba_head_dim"}), most_state_dim);
  mamba.groups = values.count(groups, 1, most_heads);
  mamba.state_size = read_length(values, key_of(values, {"mamba_d_state", "ssm_state_size"}), most_state_dim);
  mamba.kernel = values.count(key_of(values, {"mamba_d_conv", "conv_kernel"}), 2, most_kernel, 4);
  check_groups(values, heads, mamba.heads, groups, mamba.groups);
  inner_size(values, mamba.groups, mamba.state_size);
  set_state_keys(checkpoint, {.inner = inner_size(values, mamba.heads, mamba.head_dim),
                              .heads = mamba.heads,
                              .groups = mamba.groups,
                              .size = mamba.state_size,
                              .kernel = mamba.kernel});
  return mamba;
}

model::Mixer read_mixer(const ConfigValues&, Checkpoint&, const model::Attention& attention) { return attention; }
model::Mixer read_mixer(const ConfigValues&, Checkpoint&, const std::monostate&) { return std::monostate(); }

/// LFM2's MLPs may be narrower than config.json says (Lfm2MLP of transformers); Granite's are its shared experts.
std::uint32_t read_ffn(const ConfigValues& values, const Checkpoint& checkpoint) {
  const char* key = key_of(values, {"block_ff_dim", "shared_intermediate_size", "intermediate_size"});
  std::uint32_t ffn = values.count(key, 1, most_ffn);
  if (checkpoint.has(model::adjusts_ffn) && values.flag("block_auto_adjust_ff_dim", true)) {
    const std::uint32_t multiple = values.count("block_multiple_of", 1, most_ffn, 256);
    const std::uint64_t two_thirds = std::uint64_t{2} * ffn / 3;
    const double scaled = static_cast<double>(values.positive("block_ffn_dim_multiplier", 1.0f)) * static_cast<double>(two_thirds);
    const std::uint64_t width = scaled <= most_ffn ? (static_cast<std::uint64_t>(scaled) + multiple - 1) / multiple * multiple : 0;
    if (width == 0 || width > most_ffn) {
      fail(Code::bad_file, "{}: 'block_ffn_dim_multiplier' makes MLPs of {} activations, expected 1 to {}", values.where(), scaled,
           most_ffn);
    }
    ffn = static_cast<std::uint32_t>(width);
  }
  check_length(values, key, ffn);
  return ffn;
}

std::shared_ptr<const gguf::Array> array_of(const std::vector<std::int32_t>& items) {
  return std::make_shared<const gguf::Array>(gguf::Array{items});
}

}  // namespace

std::uint32_t listed_layers(const ConfigValues& values) {
  for (const char* key : list_keys) {
    if (const SortedJson* list = values.find(key); list != nullptr && list->is_array()) return static_cast<std::uint32_t>(list->size());
  }
  const SortedJson* letters = values.find(letters_key);
  return letters != nullptr && letters->is_string() ? static_cast<std::uint32_t>(letters->get<std::string>().size()) : 0;
}

void set_layer_keys(Checkpoint& checkpoint) {
  const Config& c = checkpoint.config;
  const auto heads = static_cast<std::uint32_t>(c.prediction_layers.size()), blocks = c.layer_count() + heads;
  std::vector<bool> recurrent;
  std::vector<std::int32_t> kv_heads, ffn;
  for (std::uint32_t i = 0; i < blocks; ++i) {
    const auto* attention = std::get_if<model::Attention>(&c.block(i).mixer);
    const auto* mlp = std::get_if<model::Mlp>(&c.block(i).feedforward);
    recurrent.push_back(attention == nullptr);
    kv_heads.push_back(attention == nullptr ? 0 : static_cast<std::int32_t>(attention->kv_heads));
    ffn.push_back(mlp == nullptr ? 0 : static_cast<std::int32_t>(mlp->width));
  }
  set_key(checkpoint, "block_count", blocks);
  if (c.family->attention_every != 0) {
    set_key(checkpoint, "attention.recurrent_layers", std::make_shared<const gguf::Array>(gguf::Array{recurrent}));
  } else {
    set_key(checkpoint, "attention.head_count_kv", array_of(kv_heads));
  }
  if (c.family->one_sublayer) set_key(checkpoint, "feed_forward_length", array_of(ffn));
  const std::string key = fmt::format("{}.nextn_predict_layers", c.architecture);
  std::erase_if(checkpoint.metadata, [&](const gguf::Pair& pair) { return pair.key == key; });
  if (heads > 0) checkpoint.metadata.push_back({key, heads});
}

void read_layers(const ConfigValues& values, Checkpoint& checkpoint) {
  Config& c = checkpoint.config;
  const Architecture& family = *c.family;
  if (std::holds_alternative<std::monostate>(family.recurrent)) return;
  if (checkpoint.has(model::writes_no_experts)) {
    if (values.count("num_local_experts", 0, UINT32_MAX, 0) > 0) {
      fail(Code::unsupported, "{}: 'num_local_experts' is above 0, a mixture of experts; only dense models can be converted",
           values.where());
    }
    set_key(checkpoint, "expert_count", std::uint32_t{0});
    set_key(checkpoint, "expert_used_count", std::uint32_t{0});
    set_key(checkpoint, "expert_shared_feed_forward_length", read_ffn(values, checkpoint));
  }
  model::Attention attention = c.attention();
  if ((family.honours & model::honours_rope_switch) != 0) attention.rotates = values.text("position_embedding_type", "nope") == "rope";
  const model::Mixer recurrent = std::visit([&](const auto& like) { return read_mixer(values, checkpoint, like); }, family.recurrent);
  const std::vector<LayerKind> kinds = read_kinds(values, family, c.layers.size());
  if (std::ranges::find(kinds, LayerKind::attention) == kinds.end()) {
    fail(Code::unsupported, "{}: none of the layers has attention; Skipstone runs models with at least one", values.where());
  }
  const std::uint32_t ffn = read_ffn(values, checkpoint);
  set_key(checkpoint, "feed_forward_length", ffn);
  model::LayerConfig whole = c.layers.front();
  whole.mixer = attention;
  std::get<model::Mlp>(whole.feedforward).width = ffn;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    model::LayerConfig& layer = c.layers[i] = whole;
    if (kinds[i] == LayerKind::recurrent) layer.mixer = recurrent;
    if (kinds[i] == LayerKind::mlp) layer.mixer = std::monostate();
    if (family.one_sublayer && kinds[i] != LayerKind::mlp) layer.feedforward = std::monostate();
  }
  if (checkpoint.has(model::has_prediction)) {
    whole.predicts = true;
    c.prediction_layers.assign(values.count("mtp_num_hidden_layers", 0, 1, 0), whole);
  }
  if (family.attention_every != 0) {
    set_key(checkpoint, "full_attention_interval", values.count("full_attention_interval", 1, most_layers, family.attention_every));
  }
  if (checkpoint.has(model::writes_rope_switch)) {
    constexpr std::uint32_t unlimited = 1u << 20;
    set_key(checkpoint, "rope.scaling.finetuned", attention.rotates);
    if (!attention.rotates) set_key(checkpoint, "context_length", unlimited);
  }
  set_layer_keys(checkpoint);
}

}  // namespace skipstone::convert
