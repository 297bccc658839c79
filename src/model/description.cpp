// A model's computation in words, for people who inspect a file.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "model/config.h"

namespace skipstone::model {
namespace {

/// Joined by commas.
class List {
 public:
  void add(std::string_view part) {
    if (!part.empty()) text_ += (text_.empty() ? "" : ", ") + std::string(part);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The least number of layers after which they repeat; the number of layers where they do not.
std::uint32_t period_of(const Config& config) {
  const std::uint32_t layers = config.layer_count();
  for (std::uint32_t period = 1; period < layers; ++period) {
    if (std::equal(config.layers.begin() + period, config.layers.end(), config.layers.begin())) return period;
  }
  return layers;
}

std::vector<LayerGroup> groups_of(const Config& config, std::uint32_t layers) {
  std::vector<LayerGroup> groups;
  for (std::uint32_t i = 0; i < layers; ++i) {
    const LayerConfig& layer = config.layers[i];
    if (groups.empty() || !(groups.back().layer == layer)) groups.push_back({i, i, layer});
    groups.back().last = i;
  }
  return groups;
}

// The properties that set a layer apart from others of its model.
std::string difference_of(const Attention& attention) {
  std::string text = attention.window != 0 ? fmt::format("window {}", attention.window) : "global";
  if (!attention.rotates) text += " without RoPE";
  if (attention.keys_as_values) text += " with K as V";
  if (attention.kv_source) text += fmt::format(" on the keys and values of layer {}", *attention.kv_source);
  return text;
}
std::string difference_of(const ShortConv& conv) { return fmt::format("short convolutions of {}", conv.kernel); }
std::string difference_of(const GatedDeltaNet& net) {
  return fmt::format("gated delta nets of {} heads of {}x{}", net.value_heads, net.key_dim, net.value_dim);
}
std::string difference_of(const Mamba2& mamba) {
  return fmt::format("Mamba-2 of {} heads of {}x{}", mamba.heads, mamba.head_dim, mamba.state_size);
}
std::string difference_of(const std::monostate&) { return {}; }
std::string difference_of(const Mlp& mlp) { return fmt::format("an MLP of {}", mlp.width); }
std::string difference_of(const Experts& experts) {
  std::string text = fmt::format("{} of {} experts of {}", experts.used, experts.count, experts.width);
  if (experts.shared_width != 0) text += fmt::format(" and a shared one of {}", experts.shared_width);
  return text;
}
std::string difference_of(const LayerConfig& layer, bool feedforward_differs) {
  const auto difference = [](const auto& part) { return difference_of(part); };
  std::string text = std::visit(difference, layer.mixer);
  if (!feedforward_differs || !layer.has_feedforward()) return text;
  return text + (text.empty() ? "" : " with ") + std::visit(difference, layer.feedforward);
}

bool feedforward_differs(const Config& config) {
  return std::ranges::any_of(config.layers, [&](const LayerConfig& layer) { return layer.feedforward != config.layers[0].feedforward; });
}

std::string layers_of(const Config& config) {
  const std::uint32_t period = period_of(config);
  const bool with_experts = std::holds_alternative<Experts>(config.layers[0].feedforward);
  if (period == 1) return fmt::format("all {} layers {}", config.layers.size(), difference_of(config.layers[0], with_experts));
  List list;
  for (const LayerGroup& group : groups_of(config, period)) {
    const std::string numbers =
        group.first == group.last ? fmt::format("layer {}", group.first) : fmt::format("layers {}-{}", group.first, group.last);
    list.add(numbers + " " + difference_of(group.layer, with_experts || feedforward_differs(config)));
  }
  if (period < config.layers.size()) list.add(fmt::format("and so on every {} layers up to {}", period, config.layers.size() - 1));
  return list.text();
}

// The properties that layers of a model have in common: of its mixer, of its norms, of its feed-forward network; then the file's matrices.
void add_norm(const Attention& attention, List& list) {
  if (attention.has_latents()) {
    const Latents& latents = attention.latents;
    const std::string queries = latents.query != 0 ? fmt::format(", of queries {}", latents.query) : "";
    list.add(fmt::format("keys and values of {} heads by a latent vector of {}{}", attention.heads, latents.width, queries));
  }
  if (attention.qk_norm == QkNorm::head) list.add("QK-norm");
  if (attention.qk_norm == QkNorm::width) list.add("QK-norm over all heads at once");
  if (attention.value_norm) list.add("V normalised");
  if (attention.sinks) list.add("a sink in the softmax of each head");
}
const char* function_of(Activation activation) {
  switch (activation) {
    case Activation::gated_silu:
      return "gated by SiLU";
    case Activation::gated_gelu:
      return "gated by GELU";
    case Activation::gelu:
      return "of GELU without a gate";
    case Activation::squared_relu:
      return "of squared ReLU without a gate";
    case Activation::clamped_silu:
      return "gated by a clamped SiLU";
  }
  return "";
}

/// How a router chooses, and what becomes of its weights.
std::string router_of(const Experts& experts) {
  std::string text = experts.gating == Gating::sigmoid   ? "router by sigmoids"
                     : experts.gating == Gating::softmax ? "router by a softmax over all experts"
                                                         : "router by a softmax over the chosen experts";
  if (experts.corrected) text += " with a bias for the choice";
  if (experts.groups > 1) text += fmt::format(" among {} of {} groups", experts.groups_used, experts.groups);
  if (experts.renormalised) text += ", renormalised";
  if (experts.scale != 1.0f) text += fmt::format(", times {:.4g}", experts.scale);
  return text;
}

// MLPs of dense layers are not mentioned beside experts, whose function is theirs.
void add_function(const Mlp& mlp, List& list) { list.add(fmt::format("MLP {}", function_of(mlp.activation))); }
void add_function(const Experts& experts, List& list) {
  list.add(fmt::format("experts {}", function_of(experts.activation)));
  if (experts.latent != 0) list.add(fmt::format("in a latent space of {}", experts.latent));
  if (experts.own_norms) list.add("router, experts and shared expert with norms of their own");
  if (experts.has_shared_gate()) list.add("the shared one gated by a sigmoid");
  list.add(router_of(experts));
}
void add_fused(const Attention& attention, List& list) {
  if (attention.fused_qkv) list.add("Q, K and V in one matrix");
  if (attention.output_gate) list.add("attention gated by a sigmoid");
}
void add_fused(const Mlp& mlp, List& list) {
  if (mlp.fused_gate_up) list.add("gate and up in one matrix");
}

/// The first layer with attention that has (or has not) the base of layers with a window.
const Attention* attention_with(const Config& config, bool local_rope) {
  for (const LayerConfig& layer : config.layers) {
    const auto* attention = std::get_if<Attention>(&layer.mixer);
    if (attention != nullptr && attention->local_rope == local_rope) return attention;
  }
  return nullptr;
}

void add_window_heads(const Config& config, List& list) {
  const Attention *local = attention_with(config, true), *full = attention_with(config, false);
  if (local == nullptr || full == nullptr || !config.windows_have_own_heads()) return;
  list.add(fmt::format("{} KV heads of {} in layers with a window", local->kv_heads, local->head_dim));
  list.add(fmt::format("{} of {} in the others", full->kv_heads, full->head_dim));
}

std::string sublayers_of(const Config& config) {
  const LayerConfig& layer = config.layers.front();
  const Attention& attention = config.attention();
  const auto with_mlp = std::ranges::find_if(config.layers, &LayerConfig::has_feedforward);
  const Mlp* mlp = with_mlp == config.layers.end() ? nullptr : std::get_if<Mlp>(&with_mlp->feedforward);
  List list;
  add_norm(attention, list);
  add_window_heads(config, list);
  if (layer.norm_after != Norm::none) list.add(layer.norm_before != Norm::none ? "post-norms" : "post-norms and no pre-norms");
  if (layer.norm_before == Norm::layer || layer.norm_after == Norm::layer) list.add("layer norms with a bias");
  if (layer.norm_before == Norm::layer_without_bias) list.add("layer norms without a bias");
  if (layer.parallel) list.add("attention and MLP in parallel");
  if (const Experts* experts = config.experts()) {
    add_function(*experts, list);
  } else if (mlp != nullptr) {
    add_function(*mlp, list);
  }
  add_fused(attention, list);
  if (mlp != nullptr) add_fused(*mlp, list);
  if (layer.token_input != 0) list.add(fmt::format("per-layer embeddings of {}", layer.token_input));
  if (layer.output_scale) list.add("a factor at the end of each layer");
  if (config.family->biases == Biases::qkv) list.add("biases of Q, K and V");
  if (config.family->biases == Biases::all) list.add("biases of all matrices");
  return list.text();
}

bool has_local_rope(const Config& config) {
  return std::ranges::any_of(config.layers, [](const LayerConfig& layer) {
    const auto* attention = std::get_if<Attention>(&layer.mixer);
    return attention != nullptr && attention->local_rope;
  });
}

bool rotates_anywhere(const Config& config) {
  return std::ranges::any_of(config.layers, [](const LayerConfig& layer) {
    const auto* attention = std::get_if<Attention>(&layer.mixer);
    return attention != nullptr && attention->rotates;
  });
}

std::string rope_of(const Config& c) {
  List list;
  if (!rotates_anywhere(c)) return "no RoPE";
  list.add(fmt::format("RoPE base {}", c.rope_base));
  if (has_local_rope(c)) list.add(fmt::format("base {} and no scaling in layers with a window", c.local_rope_base));
  const Attention* full = attention_with(c, false);
  if (const std::uint32_t head_dim = full != nullptr ? full->head_dim : c.attention().head_dim; c.rope_dim != head_dim)
    list.add(fmt::format("{} of a head's {} dimensions", c.rope_dim, head_dim));
  list.add(c.rope_pairs == RopePairs::halves ? "pairs half a head apart" : "pairs of neighbours");
  if (c.rope_scale != 1.0f) list.add(fmt::format("positions divided by {}", c.rope_scale));
  if (!c.rope_factors.empty())
    list.add(fmt::format("frequencies divided by {:.4g} to {:.4g}", c.rope_factors.front(), c.rope_factors.back()));
  if (!c.rope_factors_long.empty()) {
    list.add(fmt::format("by {:.4g} to {:.4g} in contexts of more than {} tokens", c.rope_factors_long.front(), c.rope_factors_long.back(),
                         c.rope_original_context));
  }
  if (c.rope_magnitude != 1.0f) list.add(fmt::format("rotated dimensions times {:.4g}", c.rope_magnitude));
  if (c.temperature > 0.0f)
    list.add(fmt::format("queries grow by {} ln(1 + position / {} rounded down)", c.temperature, c.temperature_context));
  return list.text();
}

std::string scales_of(const Config& c) {
  const Attention& attention = c.attention();
  List list;
  if (attention.softcap > 0.0f) list.add(fmt::format("scores capped at {}", attention.softcap));
  if (c.final_softcap > 0.0f) list.add(fmt::format("logits capped at {}", c.final_softcap));
  if (attention.scale > 0.0f) list.add(fmt::format("scores times {:.4g}", attention.scale));
  if (c.embedding_scale != 1.0f) list.add(fmt::format("embeddings times {:.4g}", c.embedding_scale));
  if (c.residual_scale != 1.0f) list.add(fmt::format("what sublayers add times {:.4g}", c.residual_scale));
  if (c.logit_scale != 1.0f) list.add(fmt::format("logits times {:.4g}", c.logit_scale));
  return list.text();
}

const char* name_of(Norm norm) {
  constexpr std::array names{"none", "rms", "layer", "layer_without_bias"};
  return names.at(static_cast<std::size_t>(norm));
}
const char* name_of(QkNorm norm) { return norm == QkNorm::none ? "none" : norm == QkNorm::head ? "head" : "width"; }
const char* name_of(Activation activation) {
  constexpr std::array names{"gated_silu", "gated_gelu", "gelu", "squared_relu", "clamped_silu"};
  return names.at(static_cast<std::size_t>(activation));
}

const char* name_of(Gating gating) {
  return gating == Gating::softmax ? "softmax" : gating == Gating::sigmoid ? "sigmoid" : "softmax_of_chosen";
}

std::vector<LayerFact> own_facts(const Attention& attention) {
  return {{"mixer", "attention"},
          {"window", attention.window},
          {"rotates", attention.rotates},
          {"local_rope", attention.local_rope},
          {"qk_norm", name_of(attention.qk_norm)},
          {"fused_qkv", attention.fused_qkv},
          {"output_gate", attention.output_gate},
          {"layer_kv_heads", attention.kv_heads},
          {"layer_head_dim", attention.head_dim},
          {"value_norm", attention.value_norm},
          {"keys_as_values", attention.keys_as_values},
          {"sinks", attention.sinks},
          {"kv_latent", attention.latents.width},
          {"q_latent", attention.latents.query},
          {"fused_kv", attention.latents.fused}};
}
std::vector<LayerFact> own_facts(const ShortConv& conv) { return {{"mixer", "short_conv"}, {"kernel", conv.kernel}}; }
std::vector<LayerFact> own_facts(const GatedDeltaNet& net) {
  return {{"mixer", "gated_delta_net"}, {"key_heads", net.key_heads}, {"value_heads", net.value_heads},
          {"key_dim", net.key_dim},     {"value_dim", net.value_dim}, {"kernel", net.kernel}};
}
std::vector<LayerFact> own_facts(const Mamba2& mamba) {
  return {{"mixer", "mamba2"},      {"mixer_heads", mamba.heads},     {"mixer_head_dim", mamba.head_dim},
          {"groups", mamba.groups}, {"state_size", mamba.state_size}, {"kernel", mamba.kernel}};
}
std::vector<LayerFact> own_facts(const std::monostate&) { return {}; }
std::vector<LayerFact> own_facts(const Mlp& mlp) {
  return {{"mlp", name_of(mlp.activation)}, {"ffn", mlp.width}, {"fused_gate_up", mlp.fused_gate_up}};
}

std::vector<LayerFact> own_facts(const Experts& experts) {
  return {{"experts", experts.count},
          {"experts_used", experts.used},
          {"expert_mlp", name_of(experts.activation)},
          {"expert_ffn", experts.width},
          {"shared_ffn", experts.shared_width},
          {"shared_gate", experts.has_shared_gate()},
          {"latent", experts.latent},
          {"expert_norms", experts.own_norms},
          {"fused_expert_gate_up", experts.fused_gate_up},
          {"gating", name_of(experts.gating)},
          {"corrected", experts.corrected},
          {"renormalised", experts.renormalised},
          {"expert_groups", experts.groups},
          {"expert_groups_used", experts.groups_used}};
}

}  // namespace

std::vector<LayerFact> facts_of(const LayerConfig& layer) {
  std::vector<LayerFact> facts{{"norm_before", name_of(layer.norm_before)},
                               {"norm_after", name_of(layer.norm_after)},
                               {"parallel", layer.parallel},
                               {"token_input", layer.token_input},
                               {"output_scale", layer.output_scale}};
  const auto add = [&facts](const auto& part) {
    for (const LayerFact& fact : own_facts(part)) facts.push_back(fact);
  };
  std::visit(add, layer.mixer);
  std::visit(add, layer.feedforward);
  return facts;
}

std::vector<LayerGroup> layer_groups(const Config& config) { return groups_of(config, config.layer_count()); }

std::vector<std::string> describe(const Config& config) {
  std::vector<std::string> lines{layers_of(config) + ", " + sublayers_of(config), rope_of(config)};
  if (std::string scales = scales_of(config); !scales.empty()) lines.push_back(std::move(scales));
  if (const std::size_t heads = config.prediction_layers.size(); heads > 0) {
    lines.push_back(heads == 1 ? "a head for multi-token prediction (--draft mtp)"
                               : fmt::format("{} heads for multi-token prediction, the first of which drafts (--draft mtp)", heads));
  }
  return lines;
}

}  // namespace skipstone::model
