// The part of a saved conversation whose keys and values are in the file, and which of its tokens were read as prompts.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "speculation/token_history.h"

namespace skipstone::engine {

class CommittedText {
 public:
  using Prompt = speculation::TokenHistory::Prompt;

  CommittedText() = default;
  CommittedText(std::vector<speculation::Token> tokens, std::vector<Prompt> prompts)
      : tokens_(std::move(tokens)), prompts_(std::move(prompts)) {}

  std::span<const speculation::Token> tokens() const { return tokens_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(tokens_.size()); }
  const std::vector<Prompt>& prompts() const { return prompts_; }

 private:
  std::vector<speculation::Token> tokens_;
  std::vector<Prompt> prompts_;  ///< in order; none is empty, none begins at the end of another
};

}  // namespace skipstone::engine
