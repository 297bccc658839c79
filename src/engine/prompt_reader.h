// Reading texts: prompts by prompt kernels, own tokens by decoding kernels, cached prefixes not at all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "engine/prefix_cache.h"
#include "engine/sequence_parts.h"
#include "kernels/operations.h"

namespace skipstone::engine {

class PromptReader {
 public:
  /// `prefixes`: cached prefixes are not read again; null: everything is read. `interrupted`: called between passes, true ends read().
  PromptReader(SequenceParts& parts, PrefixCache* prefixes, std::function<bool()> interrupted)
      : parts_(parts), prefixes_(prefixes), interrupted_(std::move(interrupted)) {}

  /// The first `count` tokens of the next read() are the text's own continuation: decoding passes read them.
  void own_tokens(std::uint32_t count) { own_tokens_ = count; }
  /// Reads `tokens` and commits them; returns the choice after them, nothing if it was interrupted.
  std::optional<speculation::Choice> read(std::span<const speculation::Token> tokens, exec::Cosines cosines);
  /// Cached tokens of the last read().
  std::uint32_t cached() const { return cached_; }
  /// Reads all of the committed text again, after sliding-window layers have freed pages of it.
  void read_again();
  /// Keeps the pages of the committed text, a continuation, if the prefix cache accepts those.
  void keep_continuation();

 private:
  void keep_prefix();
  /// Reads `tokens` by prompt passes, the last one with `output`; false if it was interrupted.
  bool read_prompt(std::span<const speculation::Token> tokens, exec::Cosines cosines, exec::Output output,
                   const std::function<bool()>& interrupted);
  /// Commits the cached prefix of `tokens` if nothing is committed yet; returns its length.
  std::uint32_t take_cached(std::span<const speculation::Token> tokens);
  /// Reads `tokens` by decoding passes; returns the last token's row in the last pass. `all`: no tokens are read after them.
  std::uint32_t read_own(std::span<const speculation::Token> tokens, exec::Cosines cosines, bool all);

  SequenceParts& parts_;
  PrefixCache* prefixes_;
  std::function<bool()> interrupted_;
  std::uint32_t cached_ = 0;
  std::uint32_t own_tokens_ = 0;
};

/// How many tokens the next prompt pass reads: full buckets, so that no rows are wasted, and a remainder. No bit depends on where a prompt
/// is split.
inline std::uint32_t next_chunk(std::size_t left) {
  auto chunk = static_cast<std::uint32_t>(std::min<std::size_t>(left, STEP_VERIFY_ROWS));
  for (const std::uint32_t bucket : kernels::prompt_buckets) {
    if (bucket >= STEP_VERIFY_ROWS && bucket <= left) chunk = bucket;
  }
  return chunk;
}

}  // namespace skipstone::engine
