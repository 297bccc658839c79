// The tokens of a sequence whose keys and values are in the cache, and which of them were read as prompts.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "speculation/sequence.h"

namespace skipstone::engine {

class CommittedText {
 public:
  /// Tokens from `begin` to `end` that were read as a prompt: the prompt kernels wrote their keys and values.
  struct Prompt {
    std::size_t begin = 0, end = 0;
  };

  CommittedText() = default;
  CommittedText(std::vector<speculation::Token> tokens, std::vector<Prompt> prompts)
      : tokens_(std::move(tokens)), prompts_(std::move(prompts)) {}

  std::span<const speculation::Token> tokens() const { return tokens_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(tokens_.size()); }
  const std::vector<Prompt>& prompts() const { return prompts_; }
  /// Whether the last token belongs to a continuation: a decoding pass wrote its keys and values.
  bool ends_in_continuation() const { return !tokens_.empty() && (prompts_.empty() || prompts_.back().end < tokens_.size()); }

  void append(speculation::Token token) { tokens_.push_back(token); }
  void append_prompt(std::span<const speculation::Token> tokens);
  /// At most size() tokens.
  void rollback(std::uint32_t tokens);

 private:
  std::vector<speculation::Token> tokens_;
  std::vector<Prompt> prompts_;  ///< in order; none is empty, none begins at the end of another
};

}  // namespace skipstone::engine
