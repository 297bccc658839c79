// The sampling parameters that the makers of a model recommend, if its file has them.
#pragma once

#include <cstdint>
#include <optional>

namespace skipstone::gguf {
class File;
}

namespace skipstone::engine {

/// The supported keys general.sampling.*; no value for a key that is missing or invalid (with a warning).
struct RecommendedSampling {
  std::optional<float> temperature, top_p, min_p, repeat_penalty;
  std::optional<std::uint32_t> top_k, repeat_last;

  static RecommendedSampling from(const gguf::File& file);
};

}  // namespace skipstone::engine
