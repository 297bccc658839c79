// RAII over the C API of grammars (grammar.h). Header only; needs C++17. Failed calls throw skipstone::error.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skipstone/chat.hpp"
#include "skipstone/grammar.h"
#include "skipstone/skipstone.hpp"

namespace skipstone {

/// The document of skipstone_grammar_keywords().
inline std::string grammar_keywords() {
  char* json = nullptr;
  check(skipstone_grammar_keywords(&json));
  return detail::take(json);
}

/// Which texts fit. Copies share it.
class Grammar {
 public:
  Grammar(skipstone_grammar_kind kind, const std::string& text, bool any_form = false) {
    skipstone_grammar_params params = detail::filled(skipstone_grammar_params_init);
    params.kind = kind;
    params.text = text.c_str();
    params.text_bytes = text.size();
    params.any_form = any_form ? 1 : 0;
    skipstone_grammar* grammar = nullptr;
    check(skipstone_grammar_create(&params, &grammar));
    handle_.reset(grammar, skipstone_grammar_free);
  }

  /// That of a chat's whole answers.
  Grammar answers_of(const Chat& chat, const std::string& prompt_end) const {
    skipstone_grammar* answer = nullptr;
    check(skipstone_chat_grammar(chat.get(), get(), prompt_end.c_str(), &answer));
    return Grammar(answer);
  }

  skipstone_grammar* get() const noexcept { return handle_.get(); }

  std::string gbnf() const {
    char* text = nullptr;
    check(skipstone_grammar_to_gbnf(get(), &text));
    return detail::take(text);
  }

 private:
  explicit Grammar(skipstone_grammar* grammar) : handle_(grammar, skipstone_grammar_free) {}

  std::shared_ptr<skipstone_grammar> handle_;
};

/// The bytes of a model's tokens. Copies share it.
class Vocabulary {
 public:
  Vocabulary(const std::vector<std::string>& tokens, const std::vector<skipstone_token>& ends) {
    std::vector<const char*> texts;
    std::vector<std::size_t> bytes;
    for (const std::string& token : tokens) {
      texts.push_back(token.data());
      bytes.push_back(token.size());
    }
    skipstone_vocabulary* vocabulary = nullptr;
    check(skipstone_vocabulary_create(texts.data(), bytes.data(), tokens.size(), ends.data(), ends.size(), &vocabulary));
    handle_.reset(vocabulary, skipstone_vocabulary_free);
    words_ = (tokens.size() + 31) / 32;
  }

  /// That of a model.
  explicit Vocabulary(const Engine& engine) : words_((engine.info().vocabulary + 31) / 32) {
    skipstone_vocabulary* vocabulary = nullptr;
    check(skipstone_vocabulary_of(engine.get(), &vocabulary));
    handle_.reset(vocabulary, skipstone_vocabulary_free);
  }

  skipstone_vocabulary* get() const noexcept { return handle_.get(); }
  std::size_t mask_words() const noexcept { return words_; }

 private:
  std::shared_ptr<skipstone_vocabulary> handle_;
  std::size_t words_ = 0;
};

/// Where a text is in a grammar. A value.
class GrammarState {
 public:
  explicit GrammarState(const Grammar& grammar) {
    skipstone_grammar_state* state = nullptr;
    check(skipstone_grammar_state_create(grammar.get(), &state));
    handle_.reset(state);
  }
  GrammarState(const GrammarState& other) {
    skipstone_grammar_state* copy = nullptr;
    check(skipstone_grammar_state_copy(other.get(), &copy));
    handle_.reset(copy);
  }
  GrammarState(GrammarState&&) noexcept = default;
  GrammarState& operator=(GrammarState other) noexcept {
    handle_ = std::move(other.handle_);
    return *this;
  }

  skipstone_grammar_state* get() const noexcept { return handle_.get(); }

  /// How many bytes of `text` fit; the state has read them.
  std::size_t advance(std::string_view text) {
    std::size_t fitting = 0;
    check(skipstone_grammar_state_advance(get(), text.data(), text.size(), &fitting));
    return fitting;
  }
  bool accepts() const { return skipstone_grammar_state_accepts(get()) != 0; }

  std::string forced(std::size_t most) const {
    char* text = nullptr;
    std::size_t bytes = 0;
    check(skipstone_grammar_state_forced(get(), most, &text, &bytes));
    return detail::take(text, bytes);
  }

  std::vector<std::uint32_t> mask(const Vocabulary& vocabulary) const {
    std::vector<std::uint32_t> words(vocabulary.mask_words());
    check(skipstone_grammar_state_mask(get(), vocabulary.get(), words.data(), words.size()));
    return words;
  }

 private:
  struct Free {
    void operator()(skipstone_grammar_state* state) const noexcept { skipstone_grammar_state_free(state); }
  };
  std::unique_ptr<skipstone_grammar_state, Free> handle_;
};

}  // namespace skipstone
