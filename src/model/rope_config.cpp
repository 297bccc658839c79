// A model's rotation of Q and K by position (RoPE).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "base/elementary.h"
#include "base/status.h"
#include "gguf/gguf.h"
#include "model/config_parts.h"

namespace skipstone::model {

namespace {

/// The factors of a tensor of half the rotary dimensions; empty if it is absent.
std::vector<float> rope_factors(const Keys& keys, const char* name, std::uint32_t rope_dim) {
  const gguf::Tensor* tensor = keys.file().find_tensor(name);
  if (tensor == nullptr) return {};
  if (!gguf::is_float(tensor->type)) {
    fail(Code::unsupported, "Tensor '{}' has type {}; this version reads F32, F16 and BF16 there.", name, gguf::traits(tensor->type).name);
  }
  if (tensor->elements() != rope_dim / 2 || tensor->row_length() != rope_dim / 2) {
    fail(Code::bad_file, "Tensor '{}' has {} factors, expected {} (half of the {} rotary dimensions).", name, tensor->elements(),
         rope_dim / 2, rope_dim);
  }
  std::vector<float> factors(rope_dim / 2);
  gguf::dequantize(*tensor, factors);
  for (const float f : factors) {
    if (!std::isfinite(f) || f <= 0.0f) fail(Code::bad_file, "Tensor '{}' holds {}, expected finite factors above 0.", name, f);
  }
  return factors;
}

void refuse_factors_twice(const Config& config, std::string_view second) {
  if (config.rope_factors.empty()) return;
  fail(Code::bad_file, "Tensor 'rope_freqs.weight' and {} both scale the rotary frequencies; a model has one of them.", second);
}

/// Two sets of factors, one for texts of the original length, one for longer ones; and the factor of cosines and sines for both.
void read_long_rope(const Keys& keys, Config& config) {
  const std::string shorter = tensor_name(Role::rope_factors_short, 0), longer = tensor_name(Role::rope_factors_long, 0);
  std::vector<float> short_factors;
  if ((config.family->honours & honours_long_rope) != 0) {
    short_factors = rope_factors(keys, shorter.c_str(), config.rope_dim);
    config.rope_factors_long = rope_factors(keys, longer.c_str(), config.rope_dim);
  }
  if (short_factors.empty() != config.rope_factors_long.empty()) {
    fail(Code::bad_file, "Tensor '{}' is there and '{}' is not; a model has both or none.", short_factors.empty() ? longer : shorter,
         short_factors.empty() ? shorter : longer);
  }
  constexpr std::string_view attention_factor = "rope.scaling.attn_factor";
  if (short_factors.empty()) {
    const double factor = keys.file().number(keys.full(attention_factor), 1.0);
    if (!(std::abs(factor - 1.0) <= 1e-6)) {
      fail(Code::unsupported, "The key '{}' is {}, which this version runs with '{}' alone.", keys.full(attention_factor), factor, longer);
    }
    return;
  }
  refuse_factors_twice(config, fmt::format("'{}'", shorter));
  config.rope_factors = std::move(short_factors);
  config.rope_original_context = keys.count("rope.scaling.original_context_length", 1, most_context);
  config.rope_magnitude = keys.positive(attention_factor, 1.0f);
}

/// NTK-by-parts (YaRN, arXiv 2309.00071, section 3.2 and appendix A.2): frequencies that rotate more than beta_fast times in the original
/// context stay, those of less than beta_slow turns are divided by `factor`, and between them the share goes linearly over the pairs. The
/// pairs with these turns are rounded outwards to whole ones, unless yarn_truncate is false.
void read_yarn(const Keys& keys, Config& config) {
  const double factor = keys.positive("rope.scaling.factor"), dimensions = config.rope_dim, base = config.rope_base;
  if (base <= 1.0) fail(Code::bad_file, "The key '{}' is {}, and YaRN needs a base above 1.", keys.full("rope.freq_base"), base);
  const double original = keys.count("rope.scaling.original_context_length", 1, most_context);
  const double fast = keys.positive("rope.scaling.yarn_beta_fast", 32.0f), slow = keys.positive("rope.scaling.yarn_beta_slow", 1.0f);
  const auto pair_of = [&](double turns) {
    return dimensions * log_of_positive(original / (turns * 2.0 * std::numbers::pi)) / (2.0 * log_of_positive(base));
  };
  const bool whole = keys.file().boolean(keys.full("rope.scaling.yarn_truncate"), config.family->whole_yarn_pairs);
  const double first = whole ? std::floor(pair_of(fast)) : pair_of(fast), last = whole ? std::ceil(pair_of(slow)) : pair_of(slow);
  const double low = std::max(first, 0.0), high = std::min(last, dimensions - 1.0);
  for (std::uint32_t pair = 0; pair < config.rope_dim / 2; ++pair) {
    const double divided = std::clamp((pair - low) / std::max(high - low, 0.001), 0.0, 1.0);
    config.rope_factors.push_back(static_cast<float>(1.0 / (divided / factor + 1.0 - divided)));
  }
  // The scale of scores, section 3.4; a model may undo it in part or in full, or have it in the scores alone (latent_score_scale).
  const auto gain = [&](double multiplier) { return factor <= 1.0 ? 1.0 : 0.1 * multiplier * log_of_positive(factor) + 1.0; };
  const bool in_scores = config.family->latent_attention;
  const double magnitude = in_scores ? 1.0 : gain(1.0) / gain(keys.not_negative("rope.scaling.yarn_log_multiplier"));
  config.rope_magnitude = static_cast<float>(magnitude * keys.positive("rope.scaling.attn_factor", 1.0f));
}

}  // namespace

void read_rope(const Keys& keys, Config& config) {
  const std::uint32_t head_dim = config.attention().head_dim;
  if (!config.attention().rotates) {  // nor do the other layers
    config.rope_dim = head_dim;
    return;
  }
  config.rope_dim = keys.count("rope.dimension_count", 2, head_dim, head_dim);
  if (config.rope_dim % 2 != 0) {
    fail(Code::bad_file, "The key '{}' is {}, but rotary dimensions come in pairs.", keys.full("rope.dimension_count"), config.rope_dim);
  }
  const std::uint32_t whole = config.rope_pairs == RopePairs::halves ? 8 : 4;  // dimensions that rope_store.comp rotates at a time
  if (config.rope_dim % whole != 0) {
    fail(Code::unsupported, "The key '{}' is {}; this version rotates multiples of {} dimensions.", keys.full("rope.dimension_count"),
         config.rope_dim, whole);
  }
  config.rope_base = keys.positive("rope.freq_base", 10000.0f);
  const std::string kind = keys.file().string(keys.full("rope.scaling.type"), "linear");
  const bool long_rope = (config.family->honours & honours_long_rope) != 0;
  if (kind != "none" && kind != "linear" && kind != "yarn" && !(kind == "longrope" && long_rope)) {
    fail(Code::unsupported,
         "The model scales its positions by '{}' ('{}'), which this version cannot run; it runs none, linear and yarn{}.",
         gguf::escaped(kind), keys.full("rope.scaling.type"), long_rope ? ", and longrope" : "");
  }
  // A factor counts for the kinds that use it only. scale_linear is the key's name before there were kinds.
  const float factor = keys.positive("rope.scaling.factor", keys.positive("rope.scale_linear", 1.0f));
  if (kind == "linear") config.rope_scale = factor;

  config.rope_factors = rope_factors(keys, tensor_name(Role::rope_factors, 0).c_str(), config.rope_dim);
  if (kind == "yarn") {
    refuse_factors_twice(config, "YaRN");
    read_yarn(keys, config);
  } else {
    read_long_rope(keys, config);
  }
  const bool scaled = config.rope_scale != 1.0f || config.rope_magnitude != 1.0f || !config.rope_factors.empty();
  if (config.family->unscaled_windows && scaled) config.local_rope_base = config.rope_base;
  if (config.family->local_rope_base > 0.0f) config.local_rope_base = keys.positive("rope.freq_base_swa", config.family->local_rope_base);
}

}  // namespace skipstone::model
