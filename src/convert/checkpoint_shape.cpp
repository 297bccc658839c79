// Lengths, counts and constants of config.json.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>

#include "base/status.h"
#include "convert/checkpoint.h"

namespace skipstone::convert {
namespace {

using model::Architecture;
using model::Config;

// The loader's limits, so that every file written here runs.
using model::most_context, model::most_ffn, model::most_head_dim, model::most_heads, model::most_layers, model::most_vocabulary,
    model::most_width;

/// Counts that every model has.
struct Counts {
  std::uint32_t listed_layers = 0;  ///< of a list of their kinds; 0: there is none
  std::uint32_t layers = 0, context = 0, width = 0, ffn = 0, heads = 0, kv_heads = 0, vocabulary = 0;
};

struct CountRow {
  const char *huggingface, *gguf;  ///< gguf: "" for keys not written here
  std::uint32_t most;
  std::uint32_t Counts::*field;
  std::uint32_t Counts::*fallback = nullptr;  ///< used, where it is not 0, if config.json lacks the key
};

constexpr CountRow count_rows[] = {
    {"num_hidden_layers", "block_count", most_layers, &Counts::layers, &Counts::listed_layers},
    {"max_position_embeddings", "context_length", most_context, &Counts::context},
    {"hidden_size", "embedding_length", most_width, &Counts::width},
    {"intermediate_size", "feed_forward_length", most_ffn, &Counts::ffn},
    {"num_attention_heads", "attention.head_count", most_heads, &Counts::heads},
    {"num_key_value_heads", "attention.head_count_kv", most_heads, &Counts::kv_heads, &Counts::heads},
    {"vocab_size", "", most_vocabulary, &Counts::vocabulary},
};

bool scales(const Architecture& family) { return (family.honours & model::honours_scales) != 0; }
bool scales_logits(const Architecture& family) { return (family.honours & model::scales_logits) != 0; }
bool softcaps(const Architecture& family) { return (family.honours & model::honours_softcaps) != 0; }

/// A number above 0 of the families that `applies` to.
struct NumberRow {
  const char *huggingface, *gguf;
  bool (*applies)(const Architecture& family);
  std::optional<float> fallback;  ///< transformers' default; nothing: the key is written only where config.json has it
};

constexpr NumberRow numbers[] = {
    {"attention_multiplier", "attention.scale", scales, 1.0f},
    {"embedding_multiplier", "embedding_scale", scales, 1.0f},
    {"residual_multiplier", "residual_scale", scales, 1.0f},
    {"logits_scaling", "logit_scale", scales, 1.0f},
    {"logit_scale", "logit_scale", scales_logits, 0.0625f},
    {"attn_logit_softcapping", "attn_logit_softcapping", softcaps, {}},
    {"final_logit_softcapping", "final_logit_softcapping", softcaps, {}},
};

/// The dimensions of a head.
std::uint32_t read_heads(const ConfigValues& values, const Counts& c, Checkpoint& checkpoint) {
  const std::string& where = values.where();
  if (c.heads % c.kv_heads != 0) {
    fail(Code::bad_file, "{}: {} 'num_attention_heads' do not divide among {} 'num_key_value_heads'", where, c.heads, c.kv_heads);
  }
  const bool said = values.has("head_dim");
  if (!said && c.width % c.heads != 0) {
    fail(Code::bad_file, "{}: 'hidden_size' {} does not divide among {} 'num_attention_heads', and 'head_dim' is missing", where, c.width,
         c.heads);
  }
  const std::uint32_t head_dim = values.count("head_dim", 1, most_head_dim, c.width / c.heads);
  if (head_dim > most_head_dim) {
    fail(Code::unsupported, "{}: a head has {} dimensions; Skipstone runs 4 to {}", where, head_dim, most_head_dim);
  }
  if (!said) return head_dim;  // the readers' default is width / heads
  set_key(checkpoint, "attention.key_length", head_dim);
  set_key(checkpoint, "attention.value_length", head_dim);
  return head_dim;
}

void check_lengths(const Counts& c, std::uint32_t head_dim, const std::string& where) {
  struct Length {
    const char* what;
    std::uint32_t value;
  };
  for (const Length& length : {Length{"hidden_size", c.width}, {"intermediate_size", c.ffn}, {"dimension of a head", head_dim}}) {
    if (length.value % 4 != 0) {
      fail(Code::unsupported, "{}: the {} is {}; Skipstone runs multiples of 4", where, length.what, length.value);
    }
  }
}

void read_epsilon(const ConfigValues& values, Checkpoint& checkpoint) {
  const Architecture& family = *checkpoint.config.family;
  const bool layer_norm = model::subtracts_mean(family.layer.norm_before);
  const std::string key(!checkpoint.traits().epsilon.empty() ? checkpoint.traits().epsilon : layer_norm ? "norm_epsilon" : "rms_norm_eps");
  const bool large = layer_norm || !checkpoint.traits().epsilon.empty();
  set_key(checkpoint, family.epsilon_key(), values.positive(key.c_str(), large ? 1e-5f : 1e-6f));
}

/// Gemma scales scores by 1 / sqrt(query_pre_attn_scalar); GGUF has no key for it, and readers know the values of the published models.
void check_score_scale(const ConfigValues& values, const Config& c) {
  if (!values.has("query_pre_attn_scalar")) return;
  const model::Attention& attention = c.attention();
  const bool by_width = c.family->width_scaled_layers == c.layers.size();
  const double known = by_width ? static_cast<double>(c.width) / attention.heads : attention.head_dim,
               said = values.positive("query_pre_attn_scalar");
  if (std::abs(said - known) <= 1e-4 * known) return;
  fail(Code::unsupported, "{}: 'query_pre_attn_scalar' is {}; a GGUF file of architecture {} with {} layers means {}", values.where(), said,
       c.architecture, c.layers.size(), known);
}

}  // namespace

void set_key(Checkpoint& checkpoint, std::string_view name, gguf::Value value) {
  checkpoint.metadata.push_back({fmt::format("{}.{}", checkpoint.config.architecture, name), std::move(value)});
}

void read_shape(const ConfigValues& values, Checkpoint& checkpoint) {
  Counts counts;
  counts.listed_layers = std::min(listed_layers(values), most_layers);
  for (const CountRow& row : count_rows) {
    const bool has_fallback = row.fallback != nullptr && counts.*row.fallback != 0;
    counts.*row.field = values.count(row.huggingface, 1, row.most, has_fallback ? std::optional(counts.*row.fallback) : std::nullopt);
    if (*row.gguf != '\0') set_key(checkpoint, row.gguf, counts.*row.field);
  }
  Config& c = checkpoint.config;
  c.context_trained = counts.context;
  c.width = counts.width;
  c.vocabulary = counts.vocabulary;
  if (checkpoint.has(model::writes_vocabulary)) set_key(checkpoint, "vocab_size", c.vocabulary);
  const std::uint32_t head_dim = read_heads(values, counts, checkpoint);
  check_lengths(counts, head_dim, values.where());
  model::LayerConfig layer = c.family->layer;
  auto& attention = std::get<model::Attention>(layer.mixer);
  attention.heads = counts.heads, attention.kv_heads = counts.kv_heads, attention.head_dim = head_dim;
  std::get<model::Mlp>(layer.feedforward).width = counts.ffn;
  c.layers.assign(counts.layers, layer);
  read_epsilon(values, checkpoint);
  for (const NumberRow& row : numbers) {
    if (!row.applies(*c.family) || (!row.fallback && !values.has(row.huggingface))) continue;
    set_key(checkpoint, row.gguf, values.positive(row.huggingface, row.fallback));
  }
  const bool needs_caps = (c.family->honours & model::needs_softcaps) != 0;
  for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    if (needs_caps && !values.has(key)) {
      fail(Code::unsupported, "{}: '{}' is null; a GGUF file of architecture {} always has a softcap there", values.where(), key,
           c.architecture);
    }
  }
  check_score_scale(values, c);
}

}  // namespace skipstone::convert
