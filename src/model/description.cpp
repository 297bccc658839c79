#include "model/description.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

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

/// The least number of layers after which they repeat; config.layers where they do not.
std::uint32_t period_of(const Config& config) {
  for (std::uint32_t period = 1; period < config.layers; ++period) {
    bool repeats = true;
    for (std::uint32_t i = period; repeats && i < config.layers; ++i) repeats = config.layer(i) == config.layer(i - period);
    if (repeats) return period;
  }
  return config.layers;
}

std::vector<LayerGroup> groups_of(const Config& config, std::uint32_t layers) {
  std::vector<LayerGroup> groups;
  for (std::uint32_t i = 0; i < layers; ++i) {
    const LayerSpec spec = config.layer(i);
    if (groups.empty() || !(groups.back().spec == spec)) groups.push_back({i, i, spec});
    groups.back().last = i;
  }
  return groups;
}

/// The properties that set a layer apart from others of its model.
std::string attention_of(const LayerSpec& spec) {
  std::string text = spec.window != 0 ? fmt::format("window {}", spec.window) : "global";
  if (!spec.rotates) text += " without RoPE";
  return text;
}

std::string layers_of(const Config& config) {
  const std::uint32_t period = period_of(config);
  if (period == 1) return fmt::format("all {} layers {}", config.layers, attention_of(config.layer(0)));
  List list;
  for (const LayerGroup& group : groups_of(config, period)) {
    const std::string numbers =
        group.first == group.last ? fmt::format("layer {}", group.first) : fmt::format("layers {}-{}", group.first, group.last);
    list.add(numbers + " " + attention_of(group.spec));
  }
  if (period < config.layers) list.add(fmt::format("and so on every {} layers up to {}", period, config.layers - 1));
  return list.text();
}

std::string sublayers_of(const Config& config) {
  const LayerSpec spec = config.layer(0);
  List list;
  if (spec.qk_norm == QkNorm::head) list.add("QK-norm");
  if (spec.qk_norm == QkNorm::width) list.add("QK-norm over all heads at once");
  if (spec.norm_after != Norm::none) list.add(spec.norm_before != Norm::none ? "post-norms" : "post-norms and no pre-norms");
  if (spec.norm_before == Norm::layer || spec.norm_after == Norm::layer) list.add("layer norms with a bias");
  list.add(spec.mlp == Mlp::gated_silu   ? "MLP gated by SiLU"
           : spec.mlp == Mlp::gated_gelu ? "MLP gated by GELU"
                                         : "MLP of GELU without a gate");
  if (spec.fused_qkv) list.add("Q, K and V in one matrix");
  if (spec.fused_gate_up) list.add("gate and up in one matrix");
  if (config.family->biases == Biases::qkv) list.add("biases of Q, K and V");
  if (config.family->biases == Biases::all) list.add("biases of all matrices");
  return list.text();
}

std::string rope_of(const Config& c) {
  List list;
  list.add(fmt::format("RoPE base {}", c.rope_base));
  if (c.local_rope_base > 0.0f && c.window != 0) list.add(fmt::format("base {} and no scaling in layers with a window", c.local_rope_base));
  if (c.rope_dim != c.head_dim) list.add(fmt::format("{} of a head's {} dimensions", c.rope_dim, c.head_dim));
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
  List list;
  if (c.attention_softcap > 0.0f) list.add(fmt::format("scores capped at {}", c.attention_softcap));
  if (c.final_softcap > 0.0f) list.add(fmt::format("logits capped at {}", c.final_softcap));
  if (c.attention_scale > 0.0f) list.add(fmt::format("scores times {:.4g}", c.attention_scale));
  if (c.embedding_scale != 1.0f) list.add(fmt::format("embeddings times {:.4g}", c.embedding_scale));
  if (c.residual_scale != 1.0f) list.add(fmt::format("what sublayers add times {:.4g}", c.residual_scale));
  if (c.logit_scale != 1.0f) list.add(fmt::format("logits times {:.4g}", c.logit_scale));
  return list.text();
}

}  // namespace

std::vector<LayerGroup> layer_groups(const Config& config) { return groups_of(config, config.layers); }

std::vector<std::string> describe(const Config& config) {
  std::vector<std::string> lines{layers_of(config) + ", " + sublayers_of(config), rope_of(config)};
  if (std::string scales = scales_of(config); !scales.empty()) lines.push_back(std::move(scales));
  return lines;
}

}  // namespace skipstone::model
