// A checkpoint's tokenizer as GGUF metadata.
#pragma once

#include <cstdint>
#include <string>

#include "gguf/writer.h"
#include "model/architecture.h"

namespace skipstone::convert {

/// Reads the tokenizer of a Hugging Face folder and sets GGUF's tokenizer.ggml.* keys, and tokenizer.chat_template if it has one.
/// tokenizer.model (SentencePiece BPE) is preferred over tokenizer.json (byte-level BPE, or converted SentencePiece); settings come from
/// tokenizer_config.json, special_tokens_map.json, added_tokens.json, config.json and generation_config.json where those exist.
/// `vocabulary`: rows of the model's embedding; a smaller vocabulary is filled up with unused tokens "[PAD<id>]", a larger one is refused.
/// Throws not_found where the folder has neither file, bad_file, unsupported (saying what GGUF or this build cannot express).
/// `facts`: the known facts about the model's family.
/// `pre`: tokenizer.ggml.pre for byte-level BPE, instead of the name recognised from tokenizer.json's steps; invalid_argument where this
/// build does not know it, or the tokenizer is SentencePiece. "": as recognised.
void write_tokenizer(const std::string& folder, std::uint32_t vocabulary, gguf::Writer& writer, const model::TokenizerFacts& facts = {},
                     const std::string& pre = "");

}  // namespace skipstone::convert
