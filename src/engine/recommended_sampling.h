// How the makers of a model would sample from it, as far as its file says so.
#pragma once

#include <cstdint>
#include <optional>

namespace skipstone::gguf {
class File;
}

namespace skipstone::engine {

/// The keys general.sampling.* that we have a use for; nothing where a file has none, or one that is no such value (with a warning).
struct RecommendedSampling {
  std::optional<float> temperature, top_p, min_p, repeat_penalty;
  std::optional<std::uint32_t> top_k, repeat_last;

  static RecommendedSampling from(const gguf::File& file);
};

}  // namespace skipstone::engine
