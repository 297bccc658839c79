// What config.json of a Hugging Face checkpoint says about the model, checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skipstone::convert {

struct Checkpoint {
  std::string folder;
  std::string name;  ///< the folder's own, or the repository's where the folder is a snapshot in Hugging Face's cache
  std::uint32_t layers = 0, width = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn = 0, vocabulary = 0, context = 0;
  float norm_epsilon = 0.0f;
  float rope_base = 10000.0f;
  float rope_scale = 1.0f;          ///< positions are divided by it (linear scaling)
  std::vector<float> rope_factors;  ///< head_dim / 2 divisors of the rotary frequencies (Llama 3 scaling); empty for none
  bool tied_embeddings = false;     ///< the embedding is the LM head
  std::uint32_t exit_layer = 0;     ///< the early exit the checkpoint was trained for; 0: unknown

  std::uint32_t q_width() const { return heads * head_dim; }
  std::uint32_t kv_width() const { return kv_heads * head_dim; }
};

/// Reads config.json. Throws not_found (no folder, no config.json in it), bad_file (a value that is missing or out of range, named with
/// what was expected), unsupported (an architecture or feature whose computation differs from Llama's, with what is supported).
Checkpoint read_checkpoint(const std::string& folder);

/// Llama 3's scaling of rotary frequencies, as config.json gives it.
struct FrequencyScaling {
  float factor = 1.0f, low = 1.0f, high = 4.0f;  ///< factor, low_freq_factor, high_freq_factor
  float context = 8192.0f;                       ///< original_max_position_embeddings
};

/// The divisor of each of the head_dim / 2 frequencies: 1 for wavelengths well within the original context, `factor` for those beyond it,
/// and a smooth passage between them.
std::vector<float> rope_factors(const FrequencyScaling& scaling, std::uint32_t head_dim, float base);

}  // namespace skipstone::convert
