#include "engine/grammar_constraint.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace skipstone::engine {

using text::Token;

TokenBytes::TokenBytes(const text::Tokenizer& tokenizer, const std::vector<std::string>& markers) {
  const text::Vocabulary& vocabulary = tokenizer.vocabulary();
  std::vector<std::uint32_t> ends;
  for (std::uint32_t i = 0; i < tokenizer.size(); ++i) {
    const auto token = static_cast<Token>(i);
    if (tokenizer.ends_generation(token)) {
      ends.push_back(i);
      pieces.emplace_back();
      continue;
    }
    const bool control = i < vocabulary.types.size() && vocabulary.types[i] == text::TokenType::control;
    const bool marks = control && std::ranges::binary_search(markers, vocabulary.tokens[i]);
    pieces.push_back(marks ? grammar::control_token_bytes(vocabulary.tokens[i]) : tokenizer.piece(token));
  }
  if (ends.empty()) fail(Code::unsupported, "the model has no token that ends a text, so a text that fits a grammar could not end");
  trie = std::make_shared<const grammar::TokenTrie>(pieces, std::move(ends));
}

std::optional<Token> TokenBytes::longest(std::string_view text) const {
  std::optional<Token> found;
  const auto nodes = trie->nodes();
  std::size_t depth = 0;
  for (std::size_t node = 0, end = nodes.size(); node < end && depth < text.size();) {
    if (nodes[node].byte != static_cast<std::uint8_t>(text[depth])) {
      node = nodes[node].after;
      continue;
    }
    if (const auto tokens = trie->tokens(node); !tokens.empty()) found = static_cast<Token>(tokens.front());
    end = nodes[node].after;
    ++node;
    ++depth;
  }
  return found;
}

std::shared_ptr<const TokenBytes> SharedTokenBytes::of(const text::Tokenizer& tokenizer, const std::vector<std::string>& markers) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const TokenBytes>& bytes = by_markers_[markers];
  if (!bytes) bytes = std::make_shared<const TokenBytes>(tokenizer, markers);
  return bytes;
}

GrammarConstraint::GrammarConstraint(std::shared_ptr<grammar::Grammar> grammar, std::shared_ptr<const TokenBytes> bytes,
                                     const text::Tokenizer& tokenizer)
    : grammar_(std::move(grammar)), bytes_(std::move(bytes)), tokenizer_(tokenizer), masks_(grammar_->masks_over(bytes_->trie)) {
  begin(0);
}

void GrammarConstraint::begin(std::size_t first) {
  first_ = first;
  known_.clear();
  states_.clear();
  states_.emplace_back(grammar_->automaton().start());
}

GrammarConstraint::State GrammarConstraint::next(const State& state, Token token) const {
  if (!state || token < 0 || static_cast<std::size_t>(token) >= bytes_->pieces.size()) return std::nullopt;
  const std::string& piece = bytes_->pieces[static_cast<std::size_t>(token)];
  State after = state;
  if (piece.empty() || !after->advance(piece)) return std::nullopt;
  return after;
}

/// `text` reaches the grammar's text.
const GrammarConstraint::State& GrammarConstraint::state_after(std::span<const Token> text) {
  const std::span<const Token> own = text.subspan(first_);
  const auto same = static_cast<std::size_t>(std::ranges::mismatch(known_, own).in1 - known_.begin());
  known_.resize(same);
  states_.resize(same + 1);
  for (const Token token : own.subspan(same)) {
    states_.push_back(next(states_.back(), token));
    known_.push_back(token);
  }
  return states_.back();
}

sample::TokenMask GrammarConstraint::allowed(std::span<const Token> text) {
  if (text.size() < first_) return nullptr;
  const State& state = state_after(text);
  return state ? masks_->mask(*state) : nullptr;
}

speculation::TokenTree GrammarConstraint::fitting(std::span<const Token> text, const speculation::TokenTree& tree) {
  if (text.size() < first_) return tree;
  const std::span<const Token> tokens = tree.tokens();
  std::vector<State> states = {state_after(text)};
  std::vector<std::optional<std::uint32_t>> kept = {0u};  // the rows' numbers among those that stay
  speculation::TokenTree result(tokens[0]);
  for (std::uint32_t row = 1; row < tree.rows(); ++row) {
    const std::uint32_t parent = tree.parents()[row];
    states.push_back(kept[parent] ? next(states[parent], tokens[row]) : std::nullopt);
    kept.push_back(states[row] ? std::optional(result.add(*kept[parent], tokens[row])) : std::nullopt);
  }
  return result;
}

/// Tokens are searched for in the text after a line, so that a tokenizer that begins texts with a blank adds it before the line. Where the
/// line and the bytes share a token, or the bytes are no whole characters but control tokens, the longest token that fits is taken, again
/// and again.
std::vector<Token> GrammarConstraint::segmented(std::string_view bytes) const {
  try {
    const std::vector<Token> tokens = tokenizer_.encode("\n" + std::string(bytes), false, false);
    std::string tail;
    for (auto token = tokens.rbegin(); token != tokens.rend() && tail.size() < bytes.size(); ++token) {
      tail.insert(0, tokenizer_.piece(*token));
      if (tail == bytes) return {token.base() - 1, tokens.end()};
    }
  } catch (const Error& error) {
    if (error.code() != Code::invalid_argument) throw;
  }
  std::vector<Token> tokens;
  while (!bytes.empty()) {
    const std::optional<Token> longest = bytes_->longest(bytes);
    if (!longest) break;
    tokens.push_back(*longest);
    bytes.remove_prefix(bytes_->pieces[static_cast<std::size_t>(*longest)].size());
  }
  return tokens;
}

std::vector<Token> GrammarConstraint::forced(std::span<const Token> text, std::size_t most) {
  if (text.size() < first_) return {};
  const State& state = state_after(text);
  if (!state) return {};
  constexpr std::size_t bytes_a_token = 8;
  const std::string bytes = state->forced_bytes(most * bytes_a_token);
  if (bytes.empty()) return {};
  std::vector<Token> tokens = segmented(bytes);
  tokens.resize(std::min(tokens.size(), most));
  return tokens;
}

}  // namespace skipstone::engine
