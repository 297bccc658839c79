#include "convert/token_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/status.h"
#include "convert/json_file.h"

namespace skipstone::convert {

using text::Token;
using text::TokenType;

namespace {

constexpr float unused_score = -10000;  // llama.cpp's converter's

}  // namespace

void TokenList::add(std::uint64_t id, std::string text, TokenType type, float score) {
  if (id >= rows_) {
    fail(Code::bad_file, "{}: token {} ({}) has no row in the model's embedding, which has {} rows; the tokenizer is another model's",
         path_, id, quote(text), rows_);
  }
  const std::size_t bad = text::find_invalid_utf8(text);
  if (bad != std::string::npos) fail(Code::bad_file, "{}: token {} ({}) is not UTF-8 at byte {}", path_, id, quote(text), bad);
  const auto index = static_cast<std::size_t>(id);
  if (index >= texts.size()) {
    texts.resize(index + 1);
    scores.resize(index + 1);
    types.resize(index + 1, no_token);
  }
  if (types[index] != no_token) fail(Code::bad_file, "{}: both {} and {} have the id {}", path_, quote(texts[index]), quote(text), id);
  const auto [at, fresh] = ids_.emplace(text, static_cast<Token>(id));
  if (!fresh) fail(Code::bad_file, "{}: the token {} is there twice, as {} and as {}", path_, quote(text), at->second, id);
  texts[index] = std::move(text);
  scores[index] = score;
  types[index] = type;
}

void TokenList::add_extra(std::uint64_t id, const std::string& text, bool special, text::TokenFlags given) {
  const TokenType type = special ? TokenType::control : TokenType::user_defined;
  if (id >= rows_) {
    left_out_.emplace(text, id);
    return;
  }
  if (given.strip_left || given.strip_right || given.single_word) {
    text::TokenFlags& own = flags[static_cast<Token>(id)];
    own.strip_left |= given.strip_left;
    own.strip_right |= given.strip_right;
    own.single_word |= given.single_word;
  }
  if (is_free(id)) return add(id, text, type, extra_score);
  const auto index = static_cast<std::size_t>(id);
  if (texts[index] != text) {
    fail(Code::bad_file, "{}: token {} is {} in the vocabulary but {} among the added tokens", path_, id, quote(texts[index]), quote(text));
  }
  if (special && types[index] == TokenType::unknown) return;  // it is special already, with a more exact type
  types[index] = type;
  scores[index] = extra_score;
}

void TokenList::rename(std::uint64_t id, const std::string& text) {
  if (id >= texts.size() || types[static_cast<std::size_t>(id)] != TokenType::normal || texts[static_cast<std::size_t>(id)] == text) return;
  if (find(text) >= 0) return;  // add_extra() reports the error
  std::string& written = texts[static_cast<std::size_t>(id)];
  log::warning("{}: token {} is {} there, but {} among the added tokens, which counts.", path_, id, quote(written), quote(text));
  ids_.erase(written);
  ids_.emplace(text, static_cast<Token>(id));
  written = text;
}

void TokenList::make_control(Token token) {
  TokenType& type = types[static_cast<std::size_t>(token)];
  if (type == TokenType::normal || type == TokenType::user_defined) type = TokenType::control;
}

Token TokenList::find(const std::string& text) const {
  const auto found = ids_.find(text);
  return found == ids_.end() ? -1 : found->second;
}

bool TokenList::has_free_rows() const { return texts.size() < rows_ || std::ranges::find(types, no_token) != types.end(); }

void TokenList::fill_up() {
  if (!left_out_.empty()) {
    const auto& [text, id] = *left_out_.begin();
    log::warning("{}: {} added tokens have no row in the model's embedding, which has {}, and are left out ({} with id {} is one).", path_,
                 left_out_.size(), rows_, quote(text), id);
  }
  const auto holes = std::count(types.begin(), types.end(), no_token);
  if (holes > 0) {
    const auto first = std::find(types.begin(), types.end(), no_token) - types.begin();
    log::warning("{}: {} ids up to {} belong to no token, the first is {}; they become unused tokens.", path_, holes, types.size() - 1,
                 first);
  }
  texts.resize(rows_);
  scores.resize(rows_);
  types.resize(rows_, no_token);
  for (std::size_t id = 0; id < texts.size(); ++id) {
    if (types[id] != no_token) continue;
    add(id, fmt::format("[PAD{}]", id), TokenType::unused, unused_score);
  }
}

}  // namespace skipstone::convert
