// tokenizer.model: a SentencePiece model, a ModelProto in protobuf's wire format.
// https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "convert/tokenizer.h"

namespace skipstone::convert {

/// The relevant fields of a ModelProto, with the defaults of its .proto file.
struct SentencePieceModel {
  struct Piece {
    std::string text;
    float score = 0;
    std::int32_t type = 1;  ///< ModelProto.SentencePiece.Type; the numbers are those of tokenizer.ggml.token_type
  };
  std::vector<Piece> pieces{};

  // TrainerSpec
  std::int32_t model_type = 1;  ///< 1 unigram, 2 BPE, 3 word, 4 char
  bool treat_whitespace_as_suffix = false;
  std::int32_t unknown = 0, bos = 1, eos = 2, padding = -1;  ///< ids; negative: none

  // NormalizerSpec
  std::string normalizer{};
  bool has_character_map = false;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

/// Parses the bytes of a model; `path` is for messages. Throws bad_file for bytes that are no model, a damaged one, or one with invalid
/// ids, types or scores.
SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& path);

/// Throws unsupported, saying why, for models that SentencePiece BPE with byte fallback as in Llama cannot represent: other algorithms,
/// other treatment of spaces, normalisers that change letters. Warns of normalisers that only change unusual characters.
void check_sentencepiece_model(const SentencePieceModel& model, const std::string& path);

/// The tokenizer of a tokenizer.model; `rows` are those of the model's embedding. Throws like the two above.
SourceTokenizer read_sentencepiece_model(const std::string& path, std::uint32_t rows);

}  // namespace skipstone::convert
