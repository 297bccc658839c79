// Tokenizers from GGUF metadata: SentencePiece BPE with scores and byte fallback ("llama"), the same with merges by rank in place of scores
// ("gemma4"), byte-level BPE with merges ("gpt2").
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace skipstone::gguf {
class File;
}

namespace skipstone::text {

using Token = std::int32_t;

/// The numbers are those of tokenizer.ggml.token_type.
enum class TokenType : std::int32_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

/// How a special or user-defined token is matched (tokenizer.json: lstrip, rstrip, single_word).
struct TokenFlags {
  bool strip_left = false, strip_right = false;  ///< white space on that side belongs to the token and is dropped
  bool single_word = false;                      ///< not within a word
};

/// Everything a tokenizer is made of; from a GGUF file, or filled by hand (tests, converters).
struct Vocabulary {
  std::string model;  ///< "llama", "gemma4" (SentencePiece BPE) or "gpt2" (byte-level BPE)
  std::string pre;    ///< pre-tokenizer of "gpt2": a name of pretokenizer_rules()
  std::vector<std::string> tokens;
  std::vector<float> scores;        ///< "llama"
  std::vector<TokenType> types;     ///< may be empty: all normal
  std::vector<std::string> merges;  ///< "gpt2", "gemma4": "left right", by rank
  Token bos = -1, eos = -1, eot = -1, unknown = -1;
  Token eom = -1, padding = -1;                                ///< for callers: no tokenizer needs them
  Token fill_prefix = -1, fill_suffix = -1, fill_middle = -1;  ///< precede the text around a gap and the text that fills it; for callers
  std::vector<Token> end_of_generation;  ///< every token that ends a text (eos, eot, eom, and tokens named like <|im_end|>)
  std::map<Token, TokenFlags> flags;     ///< of the tokens that have any
  bool add_bos = false, add_eos = false;
  bool add_space_prefix = true;

  /// Reads tokenizer.ggml.*; throws bad_file (missing, inconsistent lengths) or unsupported (model, pre-tokenizer). Special tokens whose
  /// ids are outside the vocabulary are left out with a warning. `pre`: the pre-tokenizer of "gpt2" in place of the one that the file
  /// names; "": the file's. Throws invalid_argument where this build does not know it, or where the tokenizer is another that has none.
  static Vocabulary from(const gguf::File& file, const std::string& pre = "");
};

/// Vocabularies come from files and from callers; both are checked once, before anything indexes by a token. Throws `code` for lengths that
/// do not fit together and ids out of range, unsupported for a model this build does not know.
void check_vocabulary(const Vocabulary& vocabulary, Code code);

/// Bytes [begin, end) of a text.
struct Span {
  std::size_t begin = 0, end = 0;
};

/// A part of a text that is exactly one token, with the white space that it takes, or is yet to be spelled with tokens (-1).
struct Stretch {
  std::size_t begin = 0, end = 0;
  Token token = -1;
};

/// Immutable after construction; safe to use from many threads.
class Tokenizer {
 public:
  explicit Tokenizer(Vocabulary vocabulary);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;

  const Vocabulary& vocabulary() const;
  std::size_t size() const;

  /// Text to tokens. `add_special`: BOS/EOS as the vocabulary says. `parse_special`: control tokens written out in the text
  /// ("<|im_end|>") become those tokens instead of being spelled; spelling never gives a control token. User-defined tokens are part
  /// of the text and always become tokens (DeepSeek Coder's single letters, Gemma's runs of spaces). Throws invalid_argument for
  /// text that is not UTF-8 (naming the byte offset), and for a byte that the vocabulary can neither spell nor call unknown.
  std::vector<Token> encode(std::string_view text, bool add_special, bool parse_special) const;

  /// A text of which only the parts `trusted` (in order, apart) may become control tokens, each of them within one part: the chat
  /// template's own words, as opposed to the messages' contents. `reserved`: user-defined tokens that the same holds for, and normal ones
  /// that look like markers. No BOS, no EOS. Throws as above.
  std::vector<Token> encode(std::string_view text, std::span<const Span> trusted, std::span<const Token> reserved) const;

  /// The stretches that the former splits `text` into, in order; joined they are the text.
  std::vector<Stretch> stretches(std::string_view text, std::span<const Span> trusted, std::span<const Token> reserved) const;
  /// The tokens of a text that stretches() has split.
  std::vector<Token> encode(std::string_view text, std::span<const Stretch> stretches) const;

  /// The bytes that a token spells; "" for control and unknown tokens. Throws invalid_argument for ids outside the vocabulary.
  std::string piece(Token token) const;

  /// All pieces joined; a leading space that encode() put in (add_space_prefix) is removed again at the start of a text.
  std::string decode(std::span<const Token> tokens) const;

  bool ends_generation(Token token) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Turns a stream of tokens into text without ever splitting a UTF-8 character: bytes of an unfinished character are held back.
class StreamDecoder {
 public:
  /// `at_text_start`: drop the one space that encode() adds before a text (only where the continuation starts a text).
  StreamDecoder(const Tokenizer& tokenizer, bool at_text_start);

  /// The text that became complete with `token`; may be empty.
  std::string push(Token token);

  /// The bytes held back at the end; those that never became a character come out as U+FFFD.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  bool at_start_;
  std::string pending_;
};

/// A chat template that a model file carries.
struct ChatTemplate {
  std::string name;    ///< "" for the usual one
  std::string source;  ///< Jinja
};

/// tokenizer.chat_template and the named ones: tokenizer.chat_templates lists the names, tokenizer.chat_template.NAME holds each.
std::vector<ChatTemplate> chat_templates(const gguf::File& file);

/// The offset of the first byte that is not part of well-formed UTF-8, or npos.
std::size_t find_invalid_utf8(std::string_view text);

}  // namespace skipstone::text
