// The parts of Config::from: metadata keys with their ranges checked, and functions that fill a field each.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "gguf/gguf.h"
#include "model/config.h"

namespace skipstone::model {

/// Under an architecture's prefix: the number of its blocks, and of those among them that are heads for multi-token prediction, the last.
inline constexpr std::string_view blocks_key = "block_count", heads_key = "nextn_predict_layers";

/// The metadata keys under an architecture's prefix, with their ranges checked.
class Keys {
 public:
  Keys(const gguf::File& file, std::string_view prefix) : file_(file), prefix_(prefix) {}

  std::string full(std::string_view name) const { return fmt::format("{}.{}", prefix_, name); }
  bool has(std::string_view name) const { return file_.find(full(name)) != nullptr; }

  /// An integer in [low, high]; without a fallback the key must be there.
  std::uint32_t count(std::string_view name, std::uint32_t low, std::uint32_t high, std::optional<std::uint32_t> fallback = {}) const {
    if (!has(name) && fallback) return *fallback;
    return in_range(full(name), file_.required_integer(full(name)), low, high);
  }

  /// A count for each layer, in [1, high]: an array, or one number for all layers.
  std::vector<std::uint32_t> per_layer(std::string_view name, std::uint32_t layers, std::uint32_t high) const {
    return counts(name, layers, high, true, {});
  }
  /// The same in [0, high].
  std::vector<std::uint32_t> per_layer_or_none(std::string_view name, std::uint32_t layers, std::uint32_t high) const {
    const std::string key = full(name);
    if (!is_array(key)) return std::vector(layers, count(name, 0, high));
    const std::vector<std::int32_t> items = items_of(name, layers);
    std::vector<std::uint32_t> all;
    for (const std::int32_t item : items) {
      if (item < 0) fail(Code::bad_file, "The key '{}' is {} for layer {}, expected 0 to {}.", key, item, all.size(), high);
      all.push_back(in_range(key, static_cast<std::uint64_t>(item), 0, high));
    }
    return all;
  }
  /// The one value above 0 that the layers marked by `wanted` have, at least one of them; an array may have 0 for others.
  std::uint32_t same_where(std::string_view name, const std::vector<bool>& wanted, std::uint32_t high,
                           std::optional<std::uint32_t> fallback = {}) const {
    const std::string key = full(name);
    if (!is_array(key)) return count(name, 1, high, fallback);
    const std::vector<std::uint32_t> all = per_layer_or_none(name, static_cast<std::uint32_t>(wanted.size()), high);
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!wanted[i]) continue;
      if (all[i] == 0) fail(Code::bad_file, "The key '{}' is 0 for layer {}, which has attention by the file's other keys.", key, i);
      if (value != 0 && all[i] != value) refuse_difference(key);
      value = all[i];
    }
    return value;
  }
  [[noreturn]] void refuse_length(std::string_view name, std::size_t items, std::uint32_t layers) const {
    fail(Code::bad_file, "The array '{}' has {} items, but the model has {} layers; the file is damaged or was converted wrongly.",
         full(name), items, layers);
  }
  /// The same where the kernels need one value for all layers.
  std::uint32_t same_in_layers(std::string_view name, std::uint32_t layers, std::uint32_t high,
                               std::optional<std::uint32_t> fallback = {}) const {
    return counts(name, layers, high, false, fallback).front();
  }

  /// A finite number above 0; without a fallback the key must be there.
  float positive(std::string_view name, std::optional<float> fallback = {}) const {
    const std::string key = full(name);
    if (!has(name)) {
      if (fallback) return *fallback;
      fail(Code::bad_file, "The key '{}' is missing; a model of this architecture needs it.", key);
    }
    const double value = file_.number(key, 0.0);
    constexpr double least = std::numeric_limits<float>::min(), most = std::numeric_limits<float>::max();
    if (!(value >= least && value <= most)) fail(Code::bad_file, "The key '{}' is {}, expected a finite number above 0.", key, value);
    return static_cast<float>(value);
  }

  /// A finite number of 0 or more; absent: 0.
  float not_negative(std::string_view name) const {
    const std::string key = full(name);
    const double value = file_.number(key, 0.0);
    constexpr double most = std::numeric_limits<float>::max();
    if (!(value >= 0.0 && value <= most)) fail(Code::bad_file, "The key '{}' is {}, expected a finite number, 0 or more.", key, value);
    return static_cast<float>(value);
  }

  const gguf::File& file() const { return file_; }

 private:
  std::vector<std::uint32_t> counts(std::string_view name, std::uint32_t layers, std::uint32_t high, bool may_differ,
                                    std::optional<std::uint32_t> fallback) const {
    const std::string key = full(name);
    if (!is_array(key)) return std::vector(layers, count(name, 1, high, fallback));
    const std::vector<std::int32_t> items = items_of(name, layers);
    const bool differ = std::ranges::adjacent_find(items, std::not_equal_to<>()) != items.end();
    if (differ && !may_differ) refuse_difference(key);
    std::vector<std::uint32_t> all;
    for (const std::int32_t item : items) {
      if (item < 1 && differ) {
        fail(Code::unsupported, "The key '{}' is {} for layer {}, which this version cannot run; it needs at least 1 for every layer.", key,
             item, all.size());
      }
      if (item < 1) fail(Code::bad_file, "The key '{}' is {}, expected 1 to {}.", key, item, high);
      all.push_back(in_range(key, static_cast<std::uint64_t>(item), 1, high));
    }
    return all;
  }

  bool is_array(const std::string& key) const {
    const gguf::Value* value = file_.find(key);
    return value != nullptr && std::holds_alternative<std::shared_ptr<const gguf::Array>>(*value);
  }

  /// Those of an array, one for each layer.
  std::vector<std::int32_t> items_of(std::string_view name, std::uint32_t layers) const {
    std::vector<std::int32_t> items = file_.integers(full(name));
    if (items.size() != layers) refuse_length(name, items.size(), layers);
    return items;
  }

  [[noreturn]] static void refuse_difference(const std::string& key) {
    fail(Code::unsupported, "The layers differ in '{}', which this version cannot run; it needs one value for all layers.", key);
  }

  static std::uint32_t in_range(const std::string& key, std::uint64_t value, std::uint32_t low, std::uint32_t high) {
    if (value < low || value > high) fail(Code::bad_file, "The key '{}' is {}, expected {} to {}.", key, value, low, high);
    return static_cast<std::uint32_t>(value);
  }

  const gguf::File& file_;
  std::string prefix_;
};

/// The layers' kinds and sizes, and those of heads for multi-token prediction; after `family`.
void read_shape(const Keys& keys, Config& config);

/// The experts of the layers that have them, without which is which; nullopt where the file counts none, or the family has none.
std::optional<Experts> read_experts(const Keys& keys, const Architecture& family);

/// The heads of latent attention, after their number.
void read_latents(const Keys& keys, Attention& attention);
/// The factor of their scores, into which YaRN's goes.
float latent_score_scale(const Keys& keys, const Attention& attention);

/// Throws unsupported where a length is no multiple of 4: the kernels read activations four floats at a time.
void check_length(std::string_view what, std::uint32_t length);

/// Rotary dimensions, bases, scaling and factors; after `family`, `layers` with their heads, and `rope_pairs` are set.
void read_rope(const Keys& keys, Config& config);

/// Which layers have a sliding window, and how they rotate; after `layers` and read_rope().
void read_windows(const Keys& keys, Config& config);

/// Of families whose layers with a sliding window have heads of their own: their sizes and rotation, which layers have no matrix of V,
/// which ones read the keys and values of others, and which end with a factor; after read_windows().
void read_window_heads(const Keys& keys, Config& config);

/// Whether a tensor is of an encoder of images or sound or of its projector, which a file may have beside its language model.
bool is_of_other_inputs(std::string_view name);

}  // namespace skipstone::model
