// A Hugging Face checkpoint's config.json, checked, and the GGUF metadata made from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/json_file.h"
#include "gguf/gguf.h"
#include "model/config.h"

namespace skipstone::convert {

struct Checkpoint {
  std::string folder;
  std::string name;      ///< the folder's own, or the repository's where the folder is a snapshot in Hugging Face's cache
  bool wrapped = false;  ///< it is the text part of a multimodal model
  /// A part of a GGUF file's description: family, shape, rotary dimensions, windows and the layers that they have, for
  /// model::has_role() and model::tensor_shape(). Numbers that no shape depends on stay at their defaults.
  model::Config config;
  std::vector<gguf::Pair> metadata;                                      ///< under the family's prefix
  std::vector<std::pair<model::Role, std::vector<float>>> rope_factors;  ///< divisors of the rotary frequencies, a tensor each
  std::optional<bool> tied_embeddings;  ///< the embedding is the LM head; nothing where config.json does not say
  bool attention_bias = false, mlp_bias = false;
  std::uint32_t exit_layer = 0;  ///< the early exit the checkpoint was trained for; 0: unknown

  const model::Checkpoints& traits() const { return config.family->checkpoints; }
  bool has(model::CheckpointTraits trait) const { return (traits().traits & trait) != 0; }
};

/// Reads config.json. Throws not_found (no folder, no config.json in it), bad_file (a value that is missing, out of range or against
/// another, named with what was expected), unsupported (a class or feature that no family here computes, with what is supported).
Checkpoint read_checkpoint(const std::string& folder);

/// Llama 3's scaling of rotary frequencies, as config.json gives it.
struct FrequencyScaling {
  float factor = 1.0f, low = 1.0f, high = 4.0f;  ///< factor, low_freq_factor, high_freq_factor
  float context = 8192.0f;                       ///< original_max_position_embeddings
};

/// The divisor of each of the rope_dim / 2 frequencies: 1 for wavelengths well within the original context, `factor` for those beyond it,
/// and a smooth transition between them.
std::vector<float> rope_factors(const FrequencyScaling& scaling, std::uint32_t rope_dim, float base);

// The parts of read_checkpoint().

/// Sets a key under the family's prefix.
void set_key(Checkpoint& checkpoint, std::string_view name, gguf::Value value);

/// Lengths, counts and constants: the keys that a single value of config.json determines.
void read_shape(const ConfigValues& values, Checkpoint& checkpoint);

/// The kinds of layers of families with recurrent ones, their sizes, and heads for multi-token prediction. After read_shape().
void read_layers(const ConfigValues& values, Checkpoint& checkpoint);

/// How many layers a list of their kinds has; 0 where there is none.
std::uint32_t listed_layers(const ConfigValues& values);

/// The keys of such families that say which blocks are what.
void set_layer_keys(Checkpoint& checkpoint);

/// Windows and which layers have them. After read_shape().
void read_windows(const ConfigValues& values, const model::CheckpointClass& kind, Checkpoint& checkpoint);

/// Rotary dimensions, bases and scaling. After read_windows().
void read_rope(const ConfigValues& values, Checkpoint& checkpoint);

}  // namespace skipstone::convert
