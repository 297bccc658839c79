// Small vocabularies written by hand, so that the rules can be tested without any file.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "text/tokenizer.h"
#include "text/utf8.h"

namespace skipstone::text::handmade {

inline Token add(Vocabulary& v, std::string written, TokenType type = TokenType::normal, float score = 0) {
  v.tokens.push_back(std::move(written));
  v.types.push_back(type);
  v.scores.push_back(score);
  return static_cast<Token>(v.tokens.size() - 1);
}

/// <unk> <s> </s>, the 256 bytes as 3..258, then pieces for "hello" and spaces.
inline Vocabulary sentencepiece() {
  Vocabulary v;
  v.model = "llama";
  v.pre = "default";
  v.unknown = add(v, "<unk>", TokenType::unknown);
  v.bos = add(v, "<s>", TokenType::control);
  v.eos = add(v, "</s>", TokenType::control);
  v.end_of_generation = {v.eos};
  v.add_bos = true;
  for (int b = 0; b < 256; ++b) add(v, fmt::format("<0x{:02X}>", b), TokenType::byte);
  float score = -1;
  for (const char* piece : {"▁hello", "hello", "llo", "he", "ll", "▁▁", "▁he", "lo", "▁",   "h", "e", "l",
                            "o",      "ab",    "bc",  "a",  "b",  "c",  "é",   "</", "</s", "s", ">"}) {
    add(v, piece, TokenType::normal, score);
    score -= 1;
  }
  return v;
}

/// The 256 bytes as 0..255 (by byte), merges for " the", "the" and "hello", and two chat tokens.
inline Vocabulary byte_level(std::string pre) {
  Vocabulary v;
  v.model = "gpt2";
  v.pre = std::move(pre);
  for (unsigned b = 0; b < 256; ++b) {
    std::string written;
    append_utf8(written, byte_level_character(static_cast<unsigned char>(b)));
    add(v, written);
  }
  for (const char* merge : {"Ġ t", "h e", "Ġt he", "t he", "l l", "he ll", "hell o", "Ġ Ġ"}) {
    v.merges.emplace_back(merge);
    std::string merged(merge);
    merged.erase(merged.find(' '), 1);
    add(v, merged);
  }
  v.bos = add(v, "<|im_start|>", TokenType::control);
  v.eos = add(v, "<|im_end|>", TokenType::control);
  v.end_of_generation = {v.eos};
  return v;
}

/// The id of the token written `written`; -1 where there is none.
inline Token id_of(const Vocabulary& v, std::string_view written) {
  for (std::size_t i = 0; i < v.tokens.size(); ++i) {
    if (v.tokens[i] == written) return static_cast<Token>(i);
  }
  return -1;
}

inline std::vector<Token> ids_of(const Vocabulary& v, std::initializer_list<const char*> written) {
  std::vector<Token> ids;
  for (const char* w : written) ids.push_back(id_of(v, w));
  return ids;
}

}  // namespace skipstone::text::handmade
