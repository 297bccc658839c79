// Which of GGUF's pre-tokenizers (tokenizer.ggml.pre) a tokenizer.json describes.
#pragma once

#include <string>

#include "json/json_fwd.h"

namespace skipstone::convert {

/// `pre_tokenizer`: that member of tokenizer.json; `ignore_merges`: its model's. Recognised by what it does, step by step; never guessed.
/// Throws unsupported with the steps for one that is not known, or not byte-level; bad_file where it makes no sense.
std::string pretokenizer_name(const SortedJson& pre_tokenizer, bool ignore_merges, const std::string& path);

}  // namespace skipstone::convert
