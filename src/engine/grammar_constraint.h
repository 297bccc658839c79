// The grammar that a session's continuations fit: which tokens may follow a text, and which must.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammar.h"
#include "sample/sampler.h"
#include "speculation/token_tree.h"
#include "text/tokenizer.h"

namespace skipstone::engine {

/// A model's tokens as the bytes that they spell; tokens that end a text spell none. Immutable.
struct TokenBytes {
  /// Control tokens spell nothing either, but for `markers`, which grammars know by grammar::control_token_bytes(). Throws unsupported
  /// where no token ends a text: a text that a grammar ends could not end.
  TokenBytes(const text::Tokenizer& tokenizer, const std::vector<std::string>& markers);

  /// The longest token that `text` begins with; nothing where none is.
  std::optional<text::Token> longest(std::string_view text) const;

  std::vector<std::string> pieces;
  std::shared_ptr<const grammar::TokenTrie> trie;
};

/// The tokens' bytes of an engine, once a session needs them.
class SharedTokenBytes {
 public:
  std::shared_ptr<const TokenBytes> of(const text::Tokenizer& tokenizer, const std::vector<std::string>& markers = {});

 private:
  std::mutex mutex_;
  std::map<std::vector<std::string>, std::shared_ptr<const TokenBytes>> by_markers_;  ///< a model's templates have few
};

/// Of one session. Everything follows from the text alone: what is kept of earlier calls only saves their repetition.
class GrammarConstraint {
 public:
  /// `tokenizer` outlives the constraint.
  GrammarConstraint(std::shared_ptr<grammar::Grammar> grammar, std::shared_ptr<const TokenBytes> bytes, const text::Tokenizer& tokenizer);

  /// The grammar's text begins at token `first` of the session's.
  void begin(std::size_t first);

  /// Whether `text` fits as far as it goes.
  bool fits(std::span<const text::Token> text) { return text.size() < first_ || state_after(text).has_value(); }
  /// The tokens that may follow `text`. Null where all may: before the grammar's text begins, after its end, and after drafts that do not
  /// fit, which no verification accepts.
  sample::TokenMask allowed(std::span<const text::Token> text);
  /// The rows of a tree of drafts whose paths after `text` fit; row 0 is the text's last token.
  speculation::TokenTree fitting(std::span<const text::Token> text, const speculation::TokenTree& tree);
  /// The tokenizer's own segmentation of the bytes that must follow `text`: at most `most` tokens.
  std::vector<text::Token> forced(std::span<const text::Token> text, std::size_t most);

 private:
  using State = std::optional<grammar::State>;  ///< nothing: the text has ended, or does not fit
  const State& state_after(std::span<const text::Token> text);
  State next(const State& state, text::Token token) const;
  std::vector<text::Token> segmented(std::string_view bytes) const;

  std::shared_ptr<grammar::Grammar> grammar_;
  std::shared_ptr<const TokenBytes> bytes_;
  const text::Tokenizer& tokenizer_;
  std::shared_ptr<grammar::TokenMasks> masks_;
  std::size_t first_ = 0;
  std::vector<text::Token> known_;  ///< the grammar's text of the last call
  std::vector<State> states_;       ///< after none, one, two, ... of these tokens
};

}  // namespace skipstone::engine
