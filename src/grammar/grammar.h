// A grammar with its masks over vocabularies: what sessions and states share.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "grammar/token_masks.h"

namespace skipstone::grammar {

/// Shared by threads. Masks over a vocabulary are computed once for all who use them.
class Grammar {
 public:
  /// `markers`: texts in which control tokens of a vocabulary may be written out, as the tags around a reasoning are.
  explicit Grammar(std::shared_ptr<const Automaton> automaton, std::vector<std::string> markers = {})
      : automaton_(std::move(automaton)), markers_(std::move(markers)) {}

  const std::vector<std::string>& markers() const { return markers_; }
  const Automaton& automaton() const { return *automaton_; }

  std::shared_ptr<TokenMasks> masks_over(const std::shared_ptr<const TokenTrie>& trie) {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<TokenMasks>& known = masks_[trie];
    if (!known) known = std::make_shared<TokenMasks>(automaton_, trie);
    return known;
  }

 private:
  std::shared_ptr<const Automaton> automaton_;
  std::vector<std::string> markers_;
  std::mutex mutex_;
  std::map<std::shared_ptr<const TokenTrie>, std::shared_ptr<TokenMasks>> masks_;
};

}  // namespace skipstone::grammar
