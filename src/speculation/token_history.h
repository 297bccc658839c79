// The tokens of one text, in one place: the session, the sequence and the generation loop share them, and all others get spans.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "sample/sampler.h"

namespace skipstone::speculation {

using sample::Token;

/// The first tokens of the text are committed: their keys and values are in the cache. Then follow tokens that no pass has read yet, as a
/// prompt or the pending token.
class TokenHistory {
 public:
  /// Tokens from `begin` to `end` that were read as a prompt: the prompt kernels wrote their keys and values.
  struct Prompt {
    std::size_t begin = 0, end = 0;
  };

  TokenHistory() = default;
  /// Nothing of `tokens` is committed.
  explicit TokenHistory(std::span<const Token> tokens) : tokens_(tokens.begin(), tokens.end()) {}
  /// The first `committed` tokens are in the cache. `prompts`: as prompts().
  TokenHistory(std::vector<Token> tokens, std::size_t committed, std::vector<Prompt> prompts)
      : tokens_(std::move(tokens)), committed_(committed), prompts_(std::move(prompts)) {}

  const std::vector<Token>& tokens() const { return tokens_; }
  std::size_t size() const { return tokens_.size(); }
  std::span<const Token> committed() const { return std::span(tokens_).first(committed_); }
  std::uint32_t committed_size() const { return static_cast<std::uint32_t>(committed_); }
  /// Of the committed tokens, in order; none is empty, none begins at the end of another.
  const std::vector<Prompt>& prompts() const { return prompts_; }
  /// Where the last continuation begins, also after a rollback into it; 0 without any prompt.
  std::size_t last_prompt_end() const { return prompts_.empty() ? 0 : prompts_.back().end; }
  /// Whether the committed token at `position` belongs to a continuation: a decoding pass wrote its keys and values.
  bool is_continuation(std::size_t position) const {
    return std::ranges::none_of(prompts_, [&](const Prompt& prompt) { return position >= prompt.begin && position < prompt.end; });
  }

  void append(Token token) { tokens_.push_back(token); }
  /// `tokens` are no part of this text.
  void append(std::span<const Token> tokens) { tokens_.insert(tokens_.end(), tokens.begin(), tokens.end()); }
  /// Drops tokens from `size` on; committed ones are rolled back first.
  void truncate(std::size_t size) {
    if (size < committed_) fail(Code::internal, "{} tokens of a text cannot be dropped that are in the cache", committed_ - size);
    tokens_.resize(std::min(size, tokens_.size()));
  }

  /// `token` follows the committed ones in the cache now. Tokens that are not committed are dropped if they begin with another one.
  void commit(Token token) {
    if (committed_ == tokens_.size() || tokens_[committed_] != token) {
      tokens_.resize(committed_);
      tokens_.push_back(token);
    }
    ++committed_;
  }
  void commit_prompt(std::span<const Token> tokens) {
    if (prompts_.empty() || prompts_.back().end != committed_) prompts_.push_back({committed_, committed_});
    for (const Token token : tokens) commit(token);
    prompts_.back().end = committed_;
  }
  /// The last `tokens` committed tokens are so no longer; they remain a part of the text.
  void rollback(std::size_t tokens) {
    committed_ -= tokens;
    while (!prompts_.empty() && prompts_.back().begin >= committed_) prompts_.pop_back();
    if (!prompts_.empty()) prompts_.back().end = std::min(prompts_.back().end, committed_);
  }

  /// Calls `use` with the committed tokens and `path` after them, which is no part of this text's memory. Nothing is copied but `path`.
  template <typename Use>
  auto with_path(std::span<const Token> path, const Use& use) {
    const std::span<const Token> unread = std::span<const Token>(tokens_).subspan(committed_);
    const auto same = static_cast<std::size_t>(std::ranges::mismatch(path, unread).in1 - path.begin());
    if (same == path.size()) return use(std::span<const Token>(tokens_).first(committed_ + path.size()));
    const Replaced replaced(tokens_, committed_ + same, path.subspan(same));
    return use(std::span<const Token>(tokens_));
  }

 private:
  /// Other tokens from `begin` on, as long as it exists.
  class Replaced {
   public:
    Replaced(std::vector<Token>& tokens, std::size_t begin, std::span<const Token> others)
        : tokens_(tokens), begin_(begin), rest_(tokens.begin() + static_cast<std::ptrdiff_t>(begin), tokens.end()) {
      tokens_.reserve(begin_ + others.size());  // throws while the text is as it was
      tokens_.resize(begin_);
      tokens_.insert(tokens_.end(), others.begin(), others.end());
    }
    ~Replaced() {
      tokens_.resize(begin_);
      tokens_.insert(tokens_.end(), rest_.begin(), rest_.end());
    }
    Replaced(const Replaced&) = delete;
    Replaced& operator=(const Replaced&) = delete;

   private:
    std::vector<Token>& tokens_;
    std::size_t begin_;
    std::vector<Token> rest_;
  };

  std::vector<Token> tokens_;
  std::size_t committed_ = 0;
  std::vector<Prompt> prompts_;
};

}  // namespace skipstone::speculation
