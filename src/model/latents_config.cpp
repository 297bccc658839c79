// The sizes of multi-head latent attention, and the scale of its scores. Files have one of two forms: a matrix of each head for keys and
// one for values (attn_k_b, attn_v_b), whose lengths of keys and values are those of the cache; or, older ones, all in one (attn_kv_b),
// whose lengths are a head's.
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/elementary.h"
#include "base/status.h"
#include "gguf/gguf.h"
#include "model/config_parts.h"

namespace skipstone::model {
namespace {

/// A head's product reads whole blocks of 32 numbers: past its own those that rotate, which weights of 0 meet.
void check_blocks(std::string_view what, std::uint32_t length, std::uint32_t rotated) {
  const std::uint32_t past = (32 - length % 32) % 32;
  if (past > rotated) {
    fail(Code::unsupported, "The model's {} is {}, {} less than whole blocks of 32; this version needs at most the {} that rotate.", what,
         length, past, rotated);
  }
}

}  // namespace

void read_latents(const Keys& keys, Attention& attention) {
  constexpr std::string_view rotary = "rope.dimension_count";
  Latents& latents = attention.latents;
  const std::uint32_t rotated = keys.count(rotary, 2, most_head_dim);
  latents.width = keys.count("attention.kv_lora_rank", 1, most_latent_dim);
  latents.query = keys.count("attention.q_lora_rank", 0, most_width, 0);
  const bool by_head = keys.has("attention.key_length_mla");
  const std::string_view key = by_head ? "attention.key_length_mla" : "attention.key_length";
  const std::uint32_t query_dim = keys.count(key, 1, most_head_dim);
  if (query_dim <= rotated) {
    fail(Code::bad_file, "The key '{}' is {}, which must be more than '{}', {}.", keys.full(key), query_dim, keys.full(rotary), rotated);
  }
  latents.key_dim = query_dim - rotated;
  latents.value_dim = keys.count(by_head ? "attention.value_length_mla" : "attention.value_length", 1, most_head_dim);
  const auto has = [&](Role role) { return keys.file().find_tensor(tensor_name(role, 0)) != nullptr; };
  latents.fused = has(Role::kv_b) && !has(Role::k_b);
  attention.kv_heads = 1;
  attention.head_dim = latents.width + rotated;
  if (attention.head_dim > most_latent_dim) {
    fail(Code::unsupported, "A cached key has {} dimensions ('{}' and '{}'); this version runs up to {}.", attention.head_dim,
         keys.full("attention.kv_lora_rank"), keys.full(rotary), most_latent_dim);
  }
  check_length("latent length of queries", latents.query);
  check_length("latent length of keys and values", latents.width);
  check_length("head dimension of queries without rotation", latents.key_dim);
  check_length("head dimension of values", latents.value_dim);
  check_blocks("latent length of keys and values", latents.width, rotated);
  check_blocks("head dimension of queries without rotation", latents.key_dim, rotated);
}

// Cosines and sines keep their magnitude; the key already has the factor 0.1 of YaRN's section 3.4.
float latent_score_scale(const Keys& keys, const Attention& attention) {
  double gain = 1.0;
  if (keys.file().string(keys.full("rope.scaling.type"), "") == "yarn") {
    const double factor = keys.positive("rope.scaling.factor");
    if (factor > 1.0) gain += static_cast<double>(keys.not_negative("rope.scaling.yarn_log_multiplier")) * log_of_positive(factor);
  }
  return static_cast<float>(gain * gain / std::sqrt(static_cast<double>(attention.query_dim())));
}

}  // namespace skipstone::model
