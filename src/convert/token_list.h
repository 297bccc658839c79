// The tokens of a checkpoint by id, on their way into a GGUF file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/tokenizer.h"

namespace skipstone::convert {

/// Ids and texts are unique. Every member throws bad_file, naming the file that the list was made for.
class TokenList {
 public:
  /// `rows`: of the model's embedding; ids end there. `path`: the tokenizer's file, for messages.
  TokenList(std::string path, std::uint32_t rows) : path_(std::move(path)), rows_(rows) {}

  void add(std::uint64_t id, std::string text, text::TokenType type, float score = 0);

  /// A token that was added to a finished vocabulary, or one of that vocabulary marked as special (never spelled, only given by name)
  /// or user-defined (always taken whole). Flags that were given before stay. One past the last row is left out; fill_up() warns of them.
  void add_extra(std::uint64_t id, const std::string& text, bool special, text::TokenFlags flags = {});

  /// A piece of text in a row that is free, which merging makes after all others.
  void add_piece(std::uint64_t id, const std::string& text) { add(id, text, text::TokenType::normal, extra_score); }

  /// Gives an ordinary token another text, as added tokens do that replace a piece: nothing merges to the old one any more.
  void rename(std::uint64_t id, const std::string& text);

  /// Marks a token that the folder names as its BOS, EOS, ...: one that text could spell until now becomes a control token.
  void make_control(text::Token token);

  /// The id of the token written `text`, or -1.
  text::Token find(const std::string& text) const;

  /// Whether an id that the embedding has a row for belongs to no token yet.
  bool is_free(std::uint64_t id) const { return id < rows_ && (id >= types.size() || types[static_cast<std::size_t>(id)] == no_token); }
  bool has_free_rows() const;

  /// Whether an added token of that text was left out.
  bool has_left_out(const std::string& text) const { return left_out_.contains(text); }

  /// Ids that no token has become unused tokens "[PAD<id>]", up to the last row.
  void fill_up();

  const std::string& path() const { return path_; }
  std::vector<std::string> texts;  ///< by id
  std::vector<float> scores;
  std::vector<text::TokenType> types;
  std::map<text::Token, text::TokenFlags> flags;  ///< of the added tokens that have any

 private:
  static constexpr auto no_token = static_cast<text::TokenType>(0);  // types of ids that nothing has claimed
  // llama.cpp's converter's score for tokens that are not pieces of the SentencePiece model.
  static constexpr float extra_score = -1000;

  std::string path_;
  std::uint32_t rows_;
  std::unordered_map<std::string, text::Token> ids_;
  std::map<std::string, std::uint64_t> left_out_;  ///< added tokens past the last row
};

}  // namespace skipstone::convert
