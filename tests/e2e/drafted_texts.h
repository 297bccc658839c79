// What tests share that compare drafted texts with those of plain decoding: sessions' options, and prompts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace skipstone::engine {

using text::Token;
using Tokens = std::vector<Token>;

/// Greedy with seed 0, else sampled. Texts do not end by themselves.
inline SessionOptions with(const std::string& draft, std::uint64_t seed = 0) {
  SessionOptions options;
  options.draft = draft;
  options.ignore_end = true;
  if (seed == 0) return options;
  options.sampling.temperature = 0.8f;
  options.sampling.top_p = 0.95f;
  options.sampling.seed = seed;
  return options;
}

/// Tokens that are no control tokens.
inline Tokens prompt_of(const Engine& engine, std::size_t count, std::uint32_t seed = 1) {
  Tokens tokens(count);
  for (std::size_t i = 0; i < count; ++i)
    tokens[i] = static_cast<Token>(3 + (i * 31 + seed * 17 + i * i) % (engine.config().vocabulary - 3));
  return tokens;
}

}  // namespace skipstone::engine
