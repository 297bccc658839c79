// Vocabularies of the 256 bytes and some special tokens, for tests of prompts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/tokenizer.h"
#include "text/utf8.h"

namespace skipstone::tests {

/// BOS is "<s>" and EOS "</s>" where they are among the special tokens.
inline std::shared_ptr<const text::Tokenizer> tokenizer_with(const std::vector<std::string>& special, bool add_bos = false) {
  text::Vocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = "gpt-2";
  for (int byte = 0; byte < 256; ++byte) {
    std::string written;
    text::append_utf8(written, text::byte_level_character(static_cast<unsigned char>(byte)));
    vocabulary.tokens.push_back(written);
    vocabulary.types.push_back(text::TokenType::normal);
  }
  for (const std::string& token : special) {
    const auto id = static_cast<text::Token>(vocabulary.tokens.size());
    if (token == "<s>") vocabulary.bos = id;
    if (token == "</s>") vocabulary.eos = id;
    vocabulary.tokens.push_back(token);
    vocabulary.types.push_back(text::TokenType::control);
  }
  vocabulary.add_bos = add_bos && vocabulary.bos >= 0;
  return std::make_shared<const text::Tokenizer>(std::move(vocabulary));
}

/// The control tokens among `tokens`, as they are written.
inline std::vector<std::string> special_tokens(const text::Tokenizer& tokenizer, const std::vector<text::Token>& tokens) {
  std::vector<std::string> found;
  for (const text::Token token : tokens) {
    const auto at = static_cast<std::size_t>(token);
    if (tokenizer.vocabulary().types[at] == text::TokenType::control) found.push_back(tokenizer.vocabulary().tokens[at]);
  }
  return found;
}

}  // namespace skipstone::tests
