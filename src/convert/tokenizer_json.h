// tokenizer.json: the format of Hugging Face's tokenizers library. https://huggingface.co/docs/tokenizers
#pragma once

#include <cstdint>
#include <string>

#include "convert/source_tokenizer.h"
#include "model/architecture.h"

namespace skipstone::convert {

/// Reads byte-level BPE (GPT-2, Llama 3, Qwen2, ...) and SentencePiece BPE that was converted to a tokenizer.json (Llama 2 without its
/// tokenizer.model). `rows` are those of the model's embedding, `facts` those of its family. `pre`: the pre-tokenizer, where the
/// caller knows better than the file; "": the file's. Throws bad_file, and unsupported for everything else, naming it.
SourceTokenizer read_tokenizer_json(const std::string& path, std::uint32_t rows, const model::TokenizerFacts& facts,
                                    const std::string& pre);

}  // namespace skipstone::convert
