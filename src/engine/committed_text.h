// The tokens of a sequence whose keys and values are in the cache, and which of them were read as prompts.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "spec/sequence.h"

namespace skipstone::engine {

class CommittedText {
 public:
  /// Tokens from `begin` to `end` that were read as a prompt: their keys and values are those that the prompt's kernels leave.
  struct Prompt {
    std::size_t begin = 0, end = 0;
  };

  CommittedText() = default;
  CommittedText(std::vector<spec::Token> tokens, std::vector<Prompt> prompts) : tokens_(std::move(tokens)), prompts_(std::move(prompts)) {}

  std::span<const spec::Token> tokens() const { return tokens_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(tokens_.size()); }
  const std::vector<Prompt>& prompts() const { return prompts_; }
  /// Whether the last token is of a continuation: its keys and values are those that a pass over it alone leaves.
  bool ends_in_continuation() const { return !tokens_.empty() && (prompts_.empty() || prompts_.back().end < tokens_.size()); }

  void append(spec::Token token) { tokens_.push_back(token); }
  void append_prompt(std::span<const spec::Token> tokens);
  /// At most size() tokens.
  void take_back(std::uint32_t tokens);

 private:
  std::vector<spec::Token> tokens_;
  std::vector<Prompt> prompts_;  ///< in order, none empty, none where another ends
};

}  // namespace skipstone::engine
