#include "engine/committed_text.h"

#include <algorithm>

namespace skipstone::engine {

void CommittedText::append_prompt(std::span<const speculation::Token> tokens) {
  if (prompts_.empty() || prompts_.back().end != tokens_.size()) prompts_.push_back({tokens_.size(), tokens_.size()});
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  prompts_.back().end = tokens_.size();
}

void CommittedText::rollback(std::uint32_t tokens) {
  tokens_.resize(tokens_.size() - tokens);
  while (!prompts_.empty() && prompts_.back().begin >= tokens_.size()) prompts_.pop_back();
  if (!prompts_.empty()) prompts_.back().end = std::min(prompts_.back().end, tokens_.size());
}

}  // namespace skipstone::engine
