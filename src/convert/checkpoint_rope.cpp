// Rotary embedding of Q and K in config.json.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/elementary.h"
#include "base/status.h"
#include "convert/checkpoint.h"
#include "json/json.h"
#include "json/parse_json.h"

namespace skipstone::convert {
namespace {

using model::Config;
using model::most_context;
using model::Role;

constexpr float usual_base = 10000.0f;  // transformers' default and GGUF's

/// `rope`: the object with all settings; `values`: config.json itself, which has some of them in older versions.
struct Source {
  const ConfigValues& values;
  const ConfigValues& rope;
};

/// The context before scaling: its key is in the rope object, in older versions in config.json itself.
std::uint32_t original_context(const Source& from, const Config& c) {
  constexpr const char* key = "original_max_position_embeddings";
  const std::uint32_t outer = from.values.count(key, 1, most_context, c.context_trained);
  return from.rope.count(key, 1, most_context, outer);
}

void read_dimensions(const Source& from, Checkpoint& checkpoint) {
  constexpr const char* key = "partial_rotary_factor";
  Config& c = checkpoint.config;
  const std::uint32_t head_dim = c.attention().head_dim;
  if (!std::get<model::Attention>(c.family->layer.mixer).rotates) {  // readers need the key, and do not use it
    c.rope_dim = head_dim;
    return set_key(checkpoint, "rope.dimension_count", c.width / c.attention().heads);
  }
  const float part = from.rope.positive(key, from.values.positive(key, 1.0f));
  c.rope_dim = static_cast<std::uint32_t>(std::min(static_cast<double>(part) * head_dim + 1e-4, 1e6));  // 0.4 of 80 is 32 in float too
  const std::uint32_t whole = c.rope_pairs == model::RopePairs::halves ? 8 : 4;                         // model::Config's
  if (part > 1.0f || c.rope_dim == 0) fail(Code::bad_file, "{}: '{}' is {}, expected a share of a head", from.values.where(), key, part);
  if (part != 1.0f && !checkpoint.has(model::partial_rotary)) {
    fail(Code::unsupported, "{}: '{}' is {}; only heads that rotate as a whole can be converted", from.values.where(), key, part);
  }
  if (c.rope_dim % whole != 0) {
    fail(Code::unsupported, "{}: {} of a head's {} dimensions rotate; Skipstone rotates multiples of {}", from.values.where(), c.rope_dim,
         head_dim, whole);
  }
  if (c.rope_dim != head_dim || checkpoint.has(model::writes_rope_dim)) set_key(checkpoint, "rope.dimension_count", c.rope_dim);
}

/// Shares of a head's pairs that rotate by time, height and width of an image; with text all rotate by its position.
void read_sections(const Source& from, Checkpoint& checkpoint) {
  constexpr const char* key = "mrope_section";
  if (!checkpoint.has(model::writes_rope_sections)) return;
  std::vector<std::int32_t> sections{11, 11, 10};  // transformers' default
  if (const SortedJson* list = from.rope.find(key)) {
    const auto is_count = [](const SortedJson& item) {
      return item.is_number_unsigned() && item.get<std::uint64_t>() <= model::most_head_dim;
    };
    if (!list->is_array() || list->size() > 4 || !std::ranges::all_of(*list, is_count)) {
      fail(Code::bad_file, "{}: '{}' is {}, expected up to four counts of pairs", from.rope.where(), key, shown(*list));
    }
    sections = list->get<std::vector<std::int32_t>>();
  }
  sections.resize(4);
  set_key(checkpoint, "rope.dimension_sections", std::make_shared<const gguf::Array>(gguf::Array{sections}));
}

void read_linear(const Source& from, Checkpoint& checkpoint) {
  set_key(checkpoint, "rope.scaling.type", std::string("linear"));
  set_key(checkpoint, "rope.scaling.factor", from.rope.positive("factor"));
}

void read_llama3(const Source& from, Checkpoint& checkpoint) {
  const FrequencyScaling how{from.rope.positive("factor"), from.rope.positive("low_freq_factor"), from.rope.positive("high_freq_factor"),
                             from.rope.positive("original_max_position_embeddings")};
  if (how.high <= how.low) {
    fail(Code::bad_file, "{}: 'high_freq_factor' {} is not above 'low_freq_factor' {}", from.rope.where(), how.high, how.low);
  }
  std::vector<float> factors = rope_factors(how, checkpoint.config.rope_dim, checkpoint.config.rope_base);
  for (const float factor : factors) {
    if (!(std::isfinite(factor) && factor > 0.0f)) {
      fail(Code::bad_file, "{}: a rotary frequency would be divided by {}; its numbers do not go together", from.rope.where(), factor);
    }
  }
  checkpoint.rope_factors.emplace_back(Role::rope_factors, std::move(factors));
}

/// YaRN (arXiv 2309.00071). GGUF's readers multiply with 0.1 ln(factor) + 1 themselves, over 0.1 m ln(factor) + 1 where
/// yarn_log_multiplier is m; the remaining factor from transformers' attention_factor, mscale and mscale_all_dim is attn_factor.
void read_yarn(const Source& from, Checkpoint& checkpoint) {
  const ConfigValues& rope = from.rope;
  if (!rope.flag("truncate", true)) {
    fail(Code::unsupported, "{}: 'truncate' is false; Skipstone runs YaRN with whole correction dimensions", rope.where());
  }
  const float factor = rope.positive("factor");
  set_key(checkpoint, "rope.scaling.type", std::string("yarn"));
  set_key(checkpoint, "rope.scaling.factor", factor);
  set_key(checkpoint, "rope.scaling.original_context_length", original_context(from, checkpoint.config));
  if (rope.has("beta_fast")) set_key(checkpoint, "rope.scaling.yarn_beta_fast", rope.positive("beta_fast"));
  if (rope.has("beta_slow")) set_key(checkpoint, "rope.scaling.yarn_beta_slow", rope.positive("beta_slow"));
  const auto gain = [&](double multiplier) {
    return factor <= 1.0f ? 1.0 : 0.1 * multiplier * log_of_positive(static_cast<double>(factor)) + 1.0;
  };
  const double mscale = rope.not_negative("mscale", 0.0f), all = rope.not_negative("mscale_all_dim", 0.0f);
  double rest = 1.0;
  if (rope.has("attention_factor")) {
    rest = rope.positive("attention_factor") / gain(1.0);
  } else if (mscale != 0.0 && all != 0.0) {
    rest = gain(mscale) / gain(1.0);
    set_key(checkpoint, "rope.scaling.yarn_log_multiplier", static_cast<float>(all));
  }
  constexpr double least = std::numeric_limits<float>::min(), most = std::numeric_limits<float>::max();
  if (!(rest >= least && rest <= most)) {
    fail(Code::bad_file, "{}: 'attention_factor' or 'mscale' would multiply rotated dimensions with {}", rope.where(), rest * gain(1.0));
  }
  if (std::abs(rest - 1.0) > 1e-6) set_key(checkpoint, "rope.scaling.attn_factor", static_cast<float>(rest));
}

std::vector<float> factor_list(const ConfigValues& rope, const char* key, std::uint32_t count) {
  const SortedJson* list = rope.find(key);
  if (list == nullptr) fail(Code::bad_file, "{}: '{}' is missing; the checkpoint is incomplete", rope.where(), key);
  if (!list->is_array() || list->size() != count) {
    fail(Code::bad_file, "{}: '{}' is {}, expected an array of {} numbers (half of the rotary dimensions)", rope.where(), key, shown(*list),
         count);
  }
  std::vector<float> factors;
  for (const SortedJson& item : *list) factors.push_back(positive_number(item, key, rope.where()));
  return factors;
}

/// LongRoPE (arXiv 2402.13753); the factor of cosines and sines for both lists: section 3.3 of Phi-3's report (arXiv 2404.14219) and
/// transformers' _compute_longrope_parameters.
void read_long_rope(const Source& from, Checkpoint& checkpoint) {
  const Config& c = checkpoint.config;
  const double original = original_context(from, c);
  const double stretch = c.context_trained / original;
  const double usual = stretch <= 1.0 || original <= 1.0 ? 1.0 : std::sqrt(1.0 + log_of_positive(stretch) / log_of_positive(original));
  set_key(checkpoint, "rope.scaling.attn_factor", from.rope.positive("attention_factor", static_cast<float>(usual)));
  checkpoint.rope_factors.emplace_back(Role::rope_factors_long, factor_list(from.rope, "long_factor", c.rope_dim / 2));
  checkpoint.rope_factors.emplace_back(Role::rope_factors_short, factor_list(from.rope, "short_factor", c.rope_dim / 2));
}

/// A kind of scaling; GGUF files of only some families can express it.
struct Scaling {
  std::string_view kind;
  void (*read)(const Source& from, Checkpoint& checkpoint);
  std::uint8_t honoured;  ///< by families with this bit; 0: by all
};

constexpr Scaling scalings[] = {{"linear", read_linear, 0},
                                {"llama3", read_llama3, 0},
                                {"yarn", read_yarn, 0},
                                {"longrope", read_long_rope, model::honours_long_rope},
                                {"su", read_long_rope, model::honours_long_rope}};  // longrope's first name

void read_scaling(const Source& from, Checkpoint& checkpoint) {
  // The kind's key was "type" in older versions.
  const std::string kind = from.rope.text("rope_type", from.rope.text("type", "default"));
  if (kind == "default") {
    if (checkpoint.has(model::writes_no_scaling)) set_key(checkpoint, "rope.scaling.type", std::string("none"));
    return;
  }
  const Config& c = checkpoint.config;
  std::string known = "default";
  for (const Scaling& row : scalings) {
    if (row.honoured != 0 && (c.family->honours & row.honoured) == 0) continue;
    known.append(", ").append(row.kind);
    if (row.kind != kind) continue;
    return row.read(from, checkpoint);
  }
  fail(Code::unsupported, "{}: positions are scaled by '{}'; of a model of class {} {} can be converted", from.rope.where(),
       gguf::escaped(kind), c.architecture, known);
}

/// The rotary base of sliding-window layers, where they have their own.
void read_local_base(const ConfigValues& values, const SortedJson* local, const std::string& where, Checkpoint& checkpoint) {
  Config& c = checkpoint.config;
  if (c.family->local_rope_base == 0.0f) return;
  c.local_rope_base = values.positive("rope_local_base_freq", c.family->local_rope_base);
  if (local != nullptr) {
    const ConfigValues rope(*local, where);
    c.local_rope_base = rope.positive("rope_theta", c.local_rope_base);
    if (const std::string kind = rope.text("rope_type", "default"); kind != "default") {
      fail(Code::unsupported, "{}: positions of layers with a window are scaled by '{}'; only those of the others can be", where,
           gguf::escaped(kind));
    }
  }
  set_key(checkpoint, "rope.freq_base_swa", c.local_rope_base);
}

/// Positions beyond the original context make Q larger (Llama 4's rule).
void read_temperature(const Source& from, Checkpoint& checkpoint) {
  constexpr const char* key = "llama_4_scaling_beta";
  const float beta = from.rope.not_negative(key, 0.0f);
  if (beta == 0.0f) return;
  if ((checkpoint.config.family->honours & model::honours_temperature) == 0) {
    fail(Code::unsupported, "{}: '{}' is {}, which a model of class {} cannot be converted with", from.rope.where(), key, beta,
         checkpoint.config.architecture);
  }
  set_key(checkpoint, "attention.temperature_scale", beta);
}

/// Whether sliding-window layers rotate like the others, but without their scaling.
bool is_unscaled(const SortedJson& local, const SortedJson& full) {
  return local.value("rope_type", SortedJson("default")) == "default" &&
         local.value("rope_theta", SortedJson(usual_base)) == full.value("rope_theta", SortedJson(usual_base));
}

}  // namespace

void read_rope(const ConfigValues& values, Checkpoint& checkpoint) {
  static const SortedJson nothing = SortedJson::object();
  // transformers 5 combines rope_theta and rope_scaling in rope_parameters, with an object for each kind of layer where they
  // differ.
  const SortedJson* gathered = values.find("rope_parameters");
  const SortedJson* rope = gathered != nullptr ? gathered : values.find("rope_scaling");
  std::string where = values.where() + (gathered != nullptr ? ": rope_parameters" : ": rope_scaling");
  if (rope == nullptr) rope = &nothing;
  if (!rope->is_object()) fail(Code::bad_file, "{}: the scaling of positions is {}, expected an object", values.where(), shown(*rope));
  const SortedJson* local = nullptr;
  if (const auto full = rope->find("full_attention"); full != rope->end()) {
    const auto sliding = rope->find("sliding_attention");
    for (const auto& part : {full, sliding}) {
      if (part != rope->end() && !part->is_object()) fail(Code::bad_file, "{}: has {}, expected an object", where, shown(*part));
    }
    if (sliding != rope->end()) local = &*sliding;
    const model::Architecture& family = *checkpoint.config.family;
    if (local != nullptr && family.local_rope_base == 0.0f && *local != *full && !(family.unscaled_windows && is_unscaled(*local, *full))) {
      fail(Code::unsupported, "{}: layers with a window turn otherwise than those without, which this class cannot be converted with",
           where);
    }
    rope = &*full;
    where += ": full_attention";
  }
  const ConfigValues inner(*rope, where);
  const Source from{values, inner};
  Config& c = checkpoint.config;
  c.rope_base = inner.positive("rope_theta", values.positive("rope_theta", usual_base));
  read_dimensions(from, checkpoint);
  read_sections(from, checkpoint);
  read_scaling(from, checkpoint);
  const auto has_key = [&](std::string_view name) {
    return std::ranges::any_of(checkpoint.metadata, [&](const gguf::Pair& pair) { return pair.key.ends_with(name); });
  };
  constexpr std::string_view original = "rope.scaling.original_context_length";
  read_temperature(from, checkpoint);
  if (!has_key(original) && (checkpoint.has(model::writes_original_context) || has_key("temperature_scale"))) {
    set_key(checkpoint, original, original_context(from, c));
  }
  if (!checkpoint.has(model::omits_rope_base) || c.rope_base != usual_base) set_key(checkpoint, "rope.freq_base", c.rope_base);
  read_local_base(values, local, where, checkpoint);
}

std::vector<float> rope_factors(const FrequencyScaling& scaling, std::uint32_t rope_dim, float base) {
  const float longest = scaling.context / scaling.low, shortest = scaling.context / scaling.high;
  std::vector<float> factors(rope_dim / 2);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    // In float, step by step, as transformers computes them.
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(rope_dim);
    const float frequency = 1.0f / static_cast<float>(power(static_cast<double>(base), static_cast<double>(exponent)));
    const float wavelength = static_cast<float>(2.0 * std::numbers::pi) / frequency;
    if (wavelength < shortest) {
      factors[i] = 1.0f;
    } else if (wavelength > longest) {
      factors[i] = scaling.factor;
    } else {
      const float share = (scaling.context / wavelength - scaling.low) / (scaling.high - scaling.low);  // of the unscaled frequency
      factors[i] = 1.0f / ((1.0f - share) / scaling.factor + share);
    }
  }
  return factors;
}

}  // namespace skipstone::convert
