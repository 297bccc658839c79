// A grammar with its masks over vocabularies: what sessions and states share.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "grammar/answer.h"
#include "grammar/token_masks.h"

namespace skipstone::grammar {

/// Shared by threads. Masks over a vocabulary are computed once for all who use them.
class Grammar {
 public:
  /// `markers`: the texts of control tokens that the grammar names (control_token_bytes()), in ascending order.
  explicit Grammar(std::shared_ptr<const Automaton> automaton, std::vector<std::string> markers = {})
      : automaton_(std::move(automaton)), markers_(std::move(markers)) {}

  const std::vector<std::string>& markers() const { return markers_; }
  const Automaton& automaton() const { return *automaton_; }

  /// That of whole answers with a text of this grammar, whose form names the control tokens `markers`; made once for each form.
  std::shared_ptr<Grammar> answers(const AnswerForm& form, const std::vector<std::string>& markers) {
    std::string key(1, form.begun ? '1' : '0');
    for (const std::string& text : form.texts()) key += '\0' + text;
    for (const auto& [text, spelled] : form.spelled) key += '\0' + spelled;
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<Grammar>& known = answers_[key];
    if (!known) known = std::make_shared<Grammar>(Automaton::make(answer_syntax(automaton_->syntax(), form)), markers);
    return known;
  }

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
  std::map<std::string, std::shared_ptr<Grammar>> answers_;
  std::map<std::shared_ptr<const TokenTrie>, std::shared_ptr<TokenMasks>> masks_;
};

}  // namespace skipstone::grammar
