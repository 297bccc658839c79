// A grammar with its masks over vocabularies: what sessions and states share.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "grammar/token_masks.h"

namespace skipstone::grammar {

/// Shared by threads. Masks over a vocabulary are computed once for all who use them.
class Grammar {
 public:
  explicit Grammar(std::shared_ptr<const Automaton> automaton) : automaton_(std::move(automaton)) {}

  const Automaton& automaton() const { return *automaton_; }

  std::shared_ptr<TokenMasks> masks_over(const std::shared_ptr<const TokenTrie>& trie) {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<TokenMasks>& known = masks_[trie];
    if (!known) known = std::make_shared<TokenMasks>(automaton_, trie);
    return known;
  }

 private:
  std::shared_ptr<const Automaton> automaton_;
  std::mutex mutex_;
  std::map<std::shared_ptr<const TokenTrie>, std::shared_ptr<TokenMasks>> masks_;
};

}  // namespace skipstone::grammar
