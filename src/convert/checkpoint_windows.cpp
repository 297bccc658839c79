// Sliding windows of config.json.
#include <algorithm>
#include <string>
#include <vector>

#include "base/status.h"
#include "convert/checkpoint.h"
#include "json/json.h"
#include "json/parse_json.h"

namespace skipstone::convert {
namespace {

using model::CheckpointClass;
using model::Config;
using model::Sliding;

/// From "layer_types", which newer versions of transformers write; empty where it is absent.
std::vector<bool> named_layers(const ConfigValues& values, std::uint32_t layers) {
  const SortedJson* types = values.find("layer_types");
  if (types == nullptr) return {};
  if (!types->is_array() || types->size() != layers) {
    fail(Code::bad_file, "{}: 'layer_types' is {}, expected an array with an item for each of the {} layers", values.where(), shown(*types),
         layers);
  }
  std::vector<bool> slides;
  for (const SortedJson& type : *types) {
    if (type != "sliding_attention" && type != "full_attention") {
      fail(Code::unsupported, "{}: 'layer_types' has {}; only full_attention and sliding_attention can be converted", values.where(),
           shown(type));
    }
    slides.push_back(type == "sliding_attention");
  }
  return slides;
}

/// The period of layers without a window; 0: all layers have one. "sliding_window_pattern" is a number, or letters for the layers of a
/// period ("LLLG").
std::uint32_t full_every(const ConfigValues& values, const CheckpointClass& kind) {
  for (const char* key : {"sliding_window_pattern", "_sliding_window_pattern"}) {
    const SortedJson* pattern = values.find(key);
    if (pattern == nullptr) continue;
    if (!pattern->is_string()) return values.count(key, 1, 1u << 16);
    const auto letters = pattern->get<std::string>();
    if (letters.empty() || letters.back() != 'G' || letters.find_first_not_of('L') != letters.size() - 1) {
      fail(Code::unsupported, "{}: '{}' is {}; expected a number, or letters L with a G at their end", values.where(), key,
           shown(*pattern));
    }
    return static_cast<std::uint32_t>(letters.size());
  }
  return kind.full_every;
}

std::vector<bool> window_layers(const ConfigValues& values, const CheckpointClass& kind, std::uint32_t layers) {
  std::vector<bool> slides = named_layers(values, layers);
  if (!slides.empty()) return slides;
  if (kind.sliding == Sliding::if_asked) {
    if (!values.has("max_window_layers")) {
      fail(Code::unsupported,
           "{}: 'use_sliding_window' is true, but neither 'layer_types' nor 'max_window_layers' says which layers have a window",
           values.where());
    }
    const std::uint32_t first = values.count("max_window_layers", 0, UINT32_MAX);
    for (std::uint32_t i = 0; i < layers; ++i) slides.push_back(i >= first);
    return slides;
  }
  return model::windows_but_every(kind.full_every == 0 ? 0 : full_every(values, kind), layers);
}

bool has_windows(const ConfigValues& values, const CheckpointClass& kind) {
  if (kind.sliding == Sliding::ignored) return false;
  if (!values.flag("use_sliding_window", kind.sliding == Sliding::honoured)) return false;
  return values.has("sliding_window") || kind.sliding == Sliding::if_asked;
}

}  // namespace

void read_windows(const ConfigValues& values, const CheckpointClass& kind, Checkpoint& checkpoint) {
  constexpr const char* key = "attention.sliding_window";
  Config& c = checkpoint.config;
  const bool needed = c.family->full_every != 0;  // files of the family always have windows
  const bool always = needed || checkpoint.has(model::writes_no_window);
  std::vector<bool> slides;
  std::uint32_t window = 0;
  if (needed || has_windows(values, kind)) {
    window = values.count("sliding_window", 1, UINT32_MAX);
    slides = window_layers(values, kind, c.layer_count());
    const bool none = std::ranges::find(slides, true) == slides.end();
    // A window as long as the context is none; where layers differ it stays, since it determines their rotation.
    if (!always && (none || (window >= c.context_trained && std::ranges::find(slides, false) == slides.end()))) window = 0;
  } else if (kind.sliding == Sliding::honoured) {
    const std::vector<bool> named = named_layers(values, c.layer_count());
    if (std::ranges::find(named, true) != named.end()) {
      fail(Code::bad_file, "{}: 'layer_types' has layers with a window, but 'sliding_window' says none", values.where());
    }
  }
  model::set_positions(c, window, window == 0 ? std::vector<bool>() : slides);
  if (window == 0) {
    if (checkpoint.has(model::writes_no_window)) set_key(checkpoint, key, window);
    return;
  }
  set_key(checkpoint, key, window);
  if (slides != model::windows_but_every(c.family->full_every, c.layer_count())) {  // the readers' default for an absent key
    set_key(checkpoint, "attention.sliding_window_pattern", std::make_shared<const gguf::Array>(gguf::Array{slides}));
  }
}

}  // namespace skipstone::convert
