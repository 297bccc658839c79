// A checkpoint's tokenizer as its own file describes it, before the settings in the files next to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "convert/token_list.h"

namespace skipstone::convert {

struct SourceTokenizer {
  /// `path`: the tokenizer's file; `rows`: of the model's embedding.
  SourceTokenizer(const std::string& path, std::uint32_t rows) : tokens(path, rows) {}

  std::string model;  ///< tokenizer.ggml.model: "llama" (SentencePiece BPE) or "gpt2" (byte-level BPE)
  std::string pre;    ///< tokenizer.ggml.pre
  TokenList tokens;
  std::vector<std::string> merges;  ///< "gpt2": "left right", by rank

  text::Token bos = -1, eos = -1, unknown = -1, padding = -1;
  std::optional<bool> add_bos, add_eos;             ///< nothing where the file does not say
  std::optional<std::string> text_begin, text_end;  ///< the tokens it puts around a text, where it names them
  bool add_space_prefix = false;
  bool remove_extra_whitespaces = false;
};

}  // namespace skipstone::convert
