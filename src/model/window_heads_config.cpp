// Families whose layers with a sliding window have heads of their own (Gemma 4). Their last layers may read the keys and values of earlier
// ones, and layers may do without a matrix of V.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "gguf/gguf.h"
#include "model/config_parts.h"

namespace skipstone::model {

namespace {

constexpr std::string_view kv_heads_key = "attention.head_count_kv", size_key = "attention.key_length_swa",
                           value_size_key = "attention.value_length_swa", rope_key = "rope.dimension_count_swa",
                           shared_key = "attention.shared_kv_layers";

Attention& attention_of(Config& config, std::uint32_t layer) { return std::get<Attention>(config.layers[layer].mixer); }

/// Heads of layers with a window, and how many of their dimensions rotate.
void read_sizes(const Keys& keys, Config& config) {
  const std::uint32_t size = keys.count(size_key, 1, most_head_dim, config.attention().head_dim);
  const std::uint32_t value_size = keys.count(value_size_key, 1, most_head_dim, size);
  if (value_size != size) {
    fail(Code::unsupported,
         "Heads whose keys have {} and whose values have {} dimensions ('{}', '{}') are not supported; they must be equal.", size,
         value_size, keys.full(size_key), keys.full(value_size_key));
  }
  check_length("head dimension of layers with a window", size);
  config.local_rope_dim = keys.count(rope_key, 2, size, size);
  if (config.local_rope_dim % 8 != 0) {  // as many as rope_store.comp rotates at a time
    fail(Code::unsupported, "The key '{}' is {}; this version rotates multiples of 8 dimensions.", keys.full(rope_key),
         config.local_rope_dim);
  }
  const std::uint32_t layers = config.layer_count();
  std::vector<std::uint32_t> kv_heads(layers, config.attention().kv_heads);
  if (keys.has(kv_heads_key)) kv_heads = keys.per_layer(kv_heads_key, layers, most_heads);
  for (std::uint32_t i = 0; i < layers; ++i) {
    Attention& attention = attention_of(config, i);
    if (attention.window != 0) attention.head_dim = size;
    attention.kv_heads = kv_heads[i];
    if (attention.q_width() % 32 != 0) {  // rows of several widths have one buffer, whose padding is not cleared
      fail(Code::unsupported, "The {} heads of {} dimensions of layer {} are {} together; this version needs a multiple of 32.",
           attention.heads, attention.head_dim, i, attention.q_width());
    }
    if (attention.heads % attention.kv_heads != 0) {
      fail(Code::bad_file, "The {} attention heads ('{}') do not divide among the {} KV heads of layer {} ('{}').", attention.heads,
           keys.full("attention.head_count"), attention.kv_heads, i, keys.full(kv_heads_key));
    }
  }
}

/// The layers before `end` with a window or without one, as `like` has it; the last of them.
std::uint32_t last_like(Config& config, std::uint32_t end, std::uint32_t like) {
  while (end > 0 && (attention_of(config, end - 1).window != 0) != (attention_of(config, like).window != 0)) --end;
  return end - 1;
}

/// The last layers read the keys and values of the last layer of their kind that has its own.
void read_sources(const Keys& keys, Config& config) {
  const std::uint32_t layers = config.layer_count(), shared = keys.count(shared_key, 0, layers - 1, 0), own = layers - shared;
  for (std::uint32_t i = own; i < layers; ++i) {
    const std::uint32_t source = last_like(config, own, i);
    if (source >= own) {
      fail(Code::bad_file, "Layer {} has no keys and values of its own ('{}' is {}), and no layer of its kind before it has any.", i,
           keys.full(shared_key), shared);
    }
    attention_of(config, i).kv_source = source;
  }
}

/// Keys and values of all layers with a window are stored alike, and so are those of the others.
void check_alike(const Keys& keys, Config& config) {
  for (std::uint32_t i = 1; i < config.layer_count(); ++i) {
    const std::uint32_t before = last_like(config, i, i);
    if (before >= i || attention_of(config, i).stores_like(attention_of(config, before))) continue;
    fail(Code::unsupported,
         "The layers {} and {} differ in '{}', which this version cannot run; it needs one value for all layers with a window and one for "
         "all others.",
         before, i, keys.full(kv_heads_key));
  }
}

}  // namespace

void read_window_heads(const Keys& keys, Config& config) {
  if (!config.family->window_heads) return;
  read_sizes(keys, config);
  read_sources(keys, config);
  check_alike(keys, config);
  for (std::uint32_t i = 0; i < config.layer_count(); ++i) {
    Attention& attention = attention_of(config, i);
    attention.keys_as_values = !attention.kv_source && keys.file().find_tensor(tensor_name(Role::v, i)) == nullptr;
  }
}

}  // namespace skipstone::model
