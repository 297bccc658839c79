// A model's layers: their kinds, and the sizes of their parts.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "gguf/gguf.h"
#include "model/config_parts.h"

namespace skipstone::model {

namespace {

/// Which blocks have attention, and how many blocks are heads for multi-token prediction, which are the last.
struct Blocks {
  std::uint32_t count = 0, heads = 0;
  std::vector<bool> attends;  ///< by block; of families without other mixers: all
};

bool is_hybrid(const Architecture& family) { return !std::holds_alternative<std::monostate>(family.recurrent); }

/// Heads and their size, which the kernels need alike in all layers with attention: those of a family with heads of their own for windows
/// are set apart later (read_window_heads).
Attention read_attention(const Keys& keys, const Config& config, const Blocks& blocks) {
  Attention a = std::get<Attention>(config.family->layer.mixer);
  const bool hybrid = is_hybrid(*config.family);
  const auto heads_of = [&](std::string_view name, std::optional<std::uint32_t> fallback = {}) {
    return hybrid ? keys.same_where(name, blocks.attends, most_heads, fallback)
                  : keys.same_in_layers(name, blocks.count, most_heads, fallback);
  };
  constexpr std::string_view kv_heads = "attention.head_count_kv";
  a.heads = heads_of("attention.head_count");
  if (config.family->latent_attention) {
    read_latents(keys, a);
    return a;
  }
  a.kv_heads = config.family->window_heads && keys.has(kv_heads) ? keys.per_layer(kv_heads, blocks.count, most_heads).back()
                                                                 : heads_of(kv_heads, a.heads);
  if (a.heads % a.kv_heads != 0) {
    fail(Code::bad_file, "The {} attention heads ('{}') do not divide among {} KV heads ('{}').", a.heads,
         keys.full("attention.head_count"), a.kv_heads, keys.full("attention.head_count_kv"));
  }
  if (!keys.has("attention.key_length") && config.width % a.heads != 0) {
    fail(Code::bad_file, "The embedding length {} does not divide among {} heads, and '{}' is missing.", config.width, a.heads,
         keys.full("attention.key_length"));
  }
  a.head_dim = keys.count("attention.key_length", 1, most_head_dim, config.width / a.heads);
  const std::uint32_t value_dim = keys.count("attention.value_length", 1, most_head_dim, a.head_dim);
  if (value_dim != a.head_dim) {
    fail(Code::unsupported,
         "Heads whose keys have {} and whose values have {} dimensions ('{}', '{}') are not supported; they must be equal.", a.head_dim,
         value_dim, keys.full("attention.key_length"), keys.full("attention.value_length"));
  }
  if (a.head_dim == 0 || a.head_dim > most_head_dim) {
    fail(Code::unsupported, "A head has {} dimensions; this version runs 4 to {}.", a.head_dim, most_head_dim);
  }
  const bool has_norms = keys.file().find_tensor(tensor_name(*config.family, Role::q_norm, 0)) != nullptr;
  if (config.family->optional_qk_norm && !has_norms) a.qk_norm = QkNorm::none;
  if ((config.family->honours & honours_rope_switch) != 0) {
    a.rotates = keys.file().boolean(keys.full("rope.scaling.finetuned"), true);
  }
  return a;
}

// Each kind of recurrent mixer has a function that reads its sizes.

std::uint32_t read_kernel(const Keys& keys, std::string_view name) { return keys.count(name, 2, most_kernel); }

/// How many of `all` each of `shares` has.
std::uint32_t share_of(const Keys& keys, std::string_view all, std::string_view shares, std::uint32_t most) {
  const std::uint32_t count = keys.count(all, 1, most), parts = keys.count(shares, 1, most_heads);
  if (count % parts != 0) {
    fail(Code::bad_file, "The key '{}' is {}, which does not divide by '{}', {}.", keys.full(all), count, keys.full(shares), parts);
  }
  return count / parts;
}

/// The sizes of a head's state, and its number of groups or key heads.
struct StateSizes {
  std::uint32_t heads, head_dim, groups, size, kernel;
};

StateSizes read_state(const Keys& keys) {
  StateSizes s{};
  s.head_dim = share_of(keys, "ssm.inner_size", "ssm.time_step_rank", most_ffn);
  s.heads = keys.count("ssm.time_step_rank", 1, most_heads);
  share_of(keys, "ssm.time_step_rank", "ssm.group_count", most_heads);
  s.groups = keys.count("ssm.group_count", 1, most_heads);
  s.size = keys.count("ssm.state_size", 1, most_state_dim);
  s.kernel = read_kernel(keys, "ssm.conv_kernel");
  if (s.head_dim > most_state_dim) {
    fail(Code::unsupported, "A head of the recurrent layers has {} dimensions ('{}' / '{}'); this version runs 4 to {}.", s.head_dim,
         keys.full("ssm.inner_size"), keys.full("ssm.time_step_rank"), most_state_dim);
  }
  if (std::uint64_t{s.groups} * s.size > most_ffn) {
    fail(Code::bad_file, "The keys '{}' and '{}' are {} and {}, expected a product of at most {}.", keys.full("ssm.group_count"),
         keys.full("ssm.state_size"), s.groups, s.size, most_ffn);
  }
  check_length("head dimension of recurrent layers", s.head_dim);
  check_length("state size", s.size);
  return s;
}

void read_mixer(const Keys& keys, ShortConv& conv) { conv.kernel = read_kernel(keys, "shortconv.l_cache"); }

void read_mixer(const Keys& keys, GatedDeltaNet& net) {
  const StateSizes sizes = read_state(keys);
  net.key_heads = sizes.groups, net.value_heads = sizes.heads;
  net.key_dim = sizes.size, net.value_dim = sizes.head_dim;
  net.kernel = sizes.kernel;
}

void read_mixer(const Keys& keys, Mamba2& mamba) {
  const StateSizes sizes = read_state(keys);
  mamba = {.heads = sizes.heads, .head_dim = sizes.head_dim, .groups = sizes.groups, .state_size = sizes.size, .kernel = sizes.kernel};
}

void read_mixer(const Keys&, Attention&) {}
void read_mixer(const Keys&, std::monostate&) {}

/// Blocks with attention by the layers' KV heads, none of which others have; by a list of the others; or every n-th.
std::vector<bool> read_attending(const Keys& keys, const Architecture& family, std::uint32_t blocks) {
  constexpr std::string_view kv_heads = "attention.head_count_kv", list = "attention.recurrent_layers",
                             interval = "full_attention_interval";
  std::vector<bool> attends(blocks, true);
  if (!is_hybrid(family)) return attends;
  const std::vector<std::uint32_t> heads =
      keys.has(kv_heads) ? keys.per_layer_or_none(kv_heads, blocks, most_heads) : std::vector<std::uint32_t>(blocks, 1);
  const bool by_heads = std::ranges::find(heads, 0u) != heads.end();
  if (by_heads) std::transform(heads.begin(), heads.end(), attends.begin(), [](std::uint32_t count) { return count > 0; });
  if (keys.has(list)) {
    const std::vector<std::int32_t> recurrent = keys.file().integers(keys.full(list));
    if (recurrent.size() != blocks) keys.refuse_length(list, recurrent.size(), blocks);
    for (std::uint32_t i = 0; i < blocks; ++i) {
      if (by_heads && attends[i] == (recurrent[i] != 0)) {
        fail(Code::bad_file, "The arrays '{}' and '{}' disagree on the kind of layer {}.", keys.full(list), keys.full(kv_heads), i);
      }
      attends[i] = recurrent[i] == 0;
    }
  } else if (!by_heads && family.attention_every != 0) {
    const std::uint32_t every = keys.count(interval, 1, most_layers, family.attention_every);
    for (std::uint32_t i = 0; i < blocks; ++i) attends[i] = (i + 1) % every == 0;
  }
  return attends;
}

Blocks read_blocks(const Keys& keys, const Architecture& family) {
  Blocks blocks;
  blocks.count = keys.count(blocks_key, 1, most_layers);
  blocks.heads = keys.count(heads_key, 0, blocks.count - 1, 0);
  blocks.attends = read_attending(keys, family, blocks.count);
  for (std::uint32_t i = blocks.count - blocks.heads; i < blocks.count; ++i) blocks.attends[i] = true;
  const auto layers = blocks.attends.begin() + (blocks.count - blocks.heads);
  if (std::find(blocks.attends.begin(), layers, true) == layers) {
    fail(Code::unsupported, "None of the model's layers has attention, which this version cannot run.");
  }
  return blocks;
}

/// The feed-forward networks of a model's blocks.
struct Networks {
  std::vector<std::uint32_t> ffn;  ///< by block: activations of its MLP; 0: it has no feed-forward network
  std::optional<Experts> experts;  ///< instead of the MLPs, but in the first `dense` blocks
  std::uint32_t dense = 0;
};

/// The layer of a block.
LayerConfig layer_of(const LayerConfig& like, const Mixer& mixer, const Networks& networks, std::uint32_t block) {
  LayerConfig layer = like;
  layer.mixer = mixer;
  if (networks.ffn[block] == 0) {
    layer.feedforward = std::monostate();
  } else if (networks.experts && block >= networks.dense) {
    layer.feedforward = *networks.experts;
  } else {
    std::get<Mlp>(layer.feedforward).width = networks.ffn[block];
  }
  return layer;
}

Networks read_networks(const Keys& keys, const Architecture& family, std::uint32_t blocks) {
  constexpr std::string_view ffn = "feed_forward_length";
  Networks networks;
  networks.experts = read_experts(keys, family);
  if (networks.experts && !keys.has(ffn)) {
    networks.ffn.assign(blocks, networks.experts->width);
  } else {
    networks.ffn = family.one_sublayer ? keys.per_layer_or_none(ffn, blocks, most_ffn) : keys.per_layer(ffn, blocks, most_ffn);
  }
  if (networks.experts) {
    Experts& experts = *networks.experts;
    networks.dense = keys.count("leading_dense_block_count", 0, blocks, 0);
    if (experts.own_norms) experts.shared_width = keys.same_in_layers(ffn, blocks, most_ffn);
    experts.fused_gate_up = experts.gated() && keys.file().find_tensor(tensor_name(Role::expert_gate_up, networks.dense)) != nullptr;
  }
  for (const std::uint32_t width : networks.ffn) check_length("feed-forward length", width);
  return networks;
}

}  // namespace

namespace {

void read_token_inputs(const Keys& keys, Config& config) {
  constexpr std::string_view name = "embedding_length_per_layer_input";
  const std::uint32_t length = keys.count(name, 0, most_width / most_layers, 0);
  if (length % 32 != 0) fail(Code::unsupported, "The key '{}' is {}; this version needs a multiple of 32.", keys.full(name), length);
  for (LayerConfig& layer : config.layers) layer.token_input = length;
}

}  // namespace

void check_length(std::string_view what, std::uint32_t length) {
  if (length % 4 != 0) fail(Code::unsupported, "The model's {} is {}; this version needs a multiple of 4.", what, length);
}

void read_shape(const Keys& keys, Config& config) {
  const Architecture& family = *config.family;
  config.context_trained = keys.count("context_length", 1, most_context);
  config.width = keys.count("embedding_length", 1, most_width);
  const Blocks blocks = read_blocks(keys, family);
  const Networks networks = read_networks(keys, family, blocks.count);
  const Attention attention = read_attention(keys, config, blocks);
  check_length("embedding length", config.width);
  check_length("head dimension", attention.head_dim);
  const auto feeds_alone = [&](std::uint32_t block) { return family.one_sublayer && networks.ffn[block] > 0; };
  const std::uint32_t layers = blocks.count - blocks.heads;
  Mixer recurrent = family.recurrent;
  bool recurs = false;
  for (std::uint32_t i = 0; i < layers; ++i) recurs = recurs || (!blocks.attends[i] && !feeds_alone(i));
  if (recurs) std::visit([&](auto& mixer) { read_mixer(keys, mixer); }, recurrent);
  for (std::uint32_t i = 0; i < layers; ++i) {
    if (feeds_alone(i) && blocks.attends[i]) {
      fail(Code::bad_file, "Layer {} has KV heads ('{}') and a feed-forward length ('{}'); a layer of architecture '{}' has one of them.",
           i, keys.full("attention.head_count_kv"), keys.full("feed_forward_length"), family.name);
    }
    config.layers.push_back(layer_of(family.layer,
                                     feeds_alone(i)      ? Mixer(std::monostate())
                                     : blocks.attends[i] ? Mixer(attention)
                                                         : recurrent,
                                     networks, i));
  }
  if (family.token_inputs) read_token_inputs(keys, config);
  for (std::uint32_t i = layers; i < blocks.count; ++i) {
    if (networks.ffn[i] == 0) {
      fail(Code::unsupported, "Block {} is a head for multi-token prediction ('{}' is {}) without a feed-forward network.", i,
           keys.full(heads_key), blocks.heads);
    }
    config.prediction_layers.push_back(layer_of(family.layer, attention, networks, i));
    config.prediction_layers.back().predicts = true;
  }
  config.norm_epsilon = keys.positive(family.epsilon_key());
}

}  // namespace skipstone::model
