// Segmenters turn a stretch of plain text (no special tokens in it) into tokens. One implementation per tokenizer.ggml.model.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace skipstone::text {

/// Immutable after construction; safe to use from many threads.
class Segmenter {
 public:
  virtual ~Segmenter() = default;

  /// Appends the tokens of `text` (well-formed UTF-8). `starts_text`: only special tokens precede it.
  /// Throws invalid_argument where the vocabulary can neither spell a byte nor say "unknown".
  virtual void append(std::string_view text, bool starts_text, std::vector<Token>& out) const = 0;

  /// The bytes that a normal token spells.
  virtual std::string spell(Token token) const = 0;
};

/// SentencePiece BPE: Kudo and Richardson 2018 (arXiv:1808.06226), section 3, with byte fallback. Pairs are joined by the scores of what
/// they make, or by the ranks of the vocabulary's merges if its model is "gemma4". `vocabulary` must outlive it.
std::unique_ptr<Segmenter> make_sentencepiece(const Vocabulary& vocabulary);

/// Byte-level BPE: Sennrich et al. 2016 (arXiv:1508.07909) over the bytes of GPT-2. `vocabulary` must outlive it.
std::unique_ptr<Segmenter> make_byte_level_bpe(const Vocabulary& vocabulary);

/// The type of a token; normal where the vocabulary says nothing.
TokenType type_of(const Vocabulary& vocabulary, Token token);

/// The byte that "<0x41>" represents; -1 where `written` is not of that form.
int byte_of(std::string_view written);

/// Whether encode() may have put a space in front of `first`, the first token of a text that spells any bytes.
bool may_have_space_put_in(const Vocabulary& vocabulary, Token first);

/// `byte` as the unknown token, or an Error that names it.
Token unknown_for(const Vocabulary& vocabulary, unsigned char byte);

}  // namespace skipstone::text
